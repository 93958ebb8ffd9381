//! Everything a task prints: read from both pipes as it comes, kept in the log, searched for outputs.
//! Always reads on, so that a task never waits for us, whatever became of the log.

use std::io::{self, PipeReader, Read};

use nix::fcntl::{FcntlArg, OFlag, fcntl};

use crate::clock::wall_micros;
use crate::frame::{FRAME_MAX, Stream};
use crate::log::Log;
use crate::outputs::{Line, Outputs};

/// Enough for most tasks, and little to touch for a thousand that print nothing.
const FEW_BYTES: usize = 4096;

pub(crate) struct Printed {
    pub(crate) log: Log,
    pub(crate) outputs: Outputs,
    sources: Vec<Source>,
    buffer: Vec<u8>,
}

struct Source {
    stream: Stream,
    pipe: PipeReader,
    line: Line,
}

impl Printed {
    pub(crate) fn new(log: Log) -> Printed {
        Printed { log, outputs: Outputs::default(), sources: Vec::new(), buffer: Vec::new() }
    }

    pub(crate) fn listen(&mut self, stdout: PipeReader, stderr: PipeReader) -> io::Result<()> {
        for (stream, pipe) in [(Stream::Stdout, stdout), (Stream::Stderr, stderr)] {
            fcntl(&pipe, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
            self.sources.push(Source { stream, pipe, line: Line::default() });
        }
        self.buffer = vec![0; FEW_BYTES];
        Ok(())
    }

    /// The pipes that may still bring something.
    pub(crate) fn open(&self) -> impl Iterator<Item = &PipeReader> {
        self.sources.iter().map(|source| &source.pipe)
    }

    pub(crate) fn at_end(&self) -> bool {
        self.sources.is_empty()
    }

    /// Reads once from each pipe that `ready`, in the order of [`Printed::open`], says has something.
    pub(crate) fn read(&mut self, ready: &[bool]) {
        let Printed { log, outputs, sources, buffer } = self;
        let mut ready = ready.iter();
        sources.retain_mut(|source| !ready.next().is_some_and(|ready| *ready) || source.read(buffer, log, outputs));
    }

    /// Takes what is left in pipes that somebody outside the tree holds open, then closes the log.
    pub(crate) fn finish(&mut self, at: i64) {
        // A pipe holds a mebibyte at most: whoever writes on and on does not keep us.
        for _ in 0..1024 * 1024 / FRAME_MAX {
            self.read(&[true, true]);
        }
        for mut source in self.sources.drain(..) {
            source.line.close(&mut self.outputs);
        }
        self.log.finish(at);
    }
}

impl Source {
    /// Whether the pipe is still open.
    fn read(&mut self, buffer: &mut Vec<u8>, log: &mut Log, outputs: &mut Outputs) -> bool {
        match self.pipe.read(buffer) {
            Ok(length) if length > 0 => {
                log.append(self.stream, wall_micros(), &buffer[..length]);
                self.line.feed(&buffer[..length], outputs);
                if length == buffer.len() {
                    buffer.resize(FRAME_MAX, 0);
                }
                true
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => true,
            Ok(_) | Err(_) => {
                self.line.close(outputs);
                false
            }
        }
    }
}
