//! Everything a task prints: read from both pipes as it comes, rid of secrets, kept in the log, searched for outputs.
//! Always reads on, so that a task never waits for us, whatever became of the log.

use std::io::{self, PipeReader, Read};
use std::sync::Arc;

use nix::fcntl::{FcntlArg, OFlag, fcntl};

use crate::clock::{boot_micros, wall_micros};
use crate::frame::{FRAME_MAX, Stream};
use crate::log::Log;
use crate::mask::{Masker, Masks};
use crate::outputs::{Line, Outputs};

/// Enough for most tasks, and little to touch for a thousand that print nothing.
const FEW_BYTES: usize = 4096;
/// For so long, in microseconds, the beginning of what may be a secret waits for the rest.
const MOMENT: u64 = 200_000;

pub(crate) struct Printed {
    pub(crate) log: Log,
    pub(crate) outputs: Outputs,
    masks: Option<Arc<Masks>>,
    sources: Vec<Source>,
    buffer: Vec<u8>,
}

struct Source {
    stream: Stream,
    pipe: PipeReader,
    line: Line,
    veil: Option<Veil>,
}

/// Between a pipe and the log of a task that was told secrets.
struct Veil {
    masker: Masker,
    clean: Vec<u8>,
    /// When something last came, on the boot clock.
    heard: u64,
}

impl Printed {
    pub(crate) fn new(log: Log) -> Printed {
        Printed { log, outputs: Outputs::default(), masks: None, sources: Vec::new(), buffer: Vec::new() }
    }

    /// What must not be read in the output. To be said before there is any.
    pub(crate) fn hide(&mut self, masks: Masks) {
        self.masks = (!masks.is_empty()).then(|| Arc::new(masks));
    }

    pub(crate) fn listen(&mut self, stdout: PipeReader, stderr: PipeReader) -> io::Result<()> {
        for (stream, pipe) in [(Stream::Stdout, stdout), (Stream::Stderr, stderr)] {
            fcntl(&pipe, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
            let veil = self.masks.clone().map(|masks| Veil {
                masker: Masker::new(masks),
                clean: Vec::new(),
                heard: boot_micros(),
            });
            self.sources.push(Source { stream, pipe, line: Line::default(), veil });
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

    /// For how many milliseconds nothing needs to be done; none if only something new matters.
    pub(crate) fn patience(&self, now: u64) -> Option<u16> {
        let holding =
            self.sources.iter().filter_map(|source| source.veil.as_ref()).filter(|veil| veil.masker.is_holding());
        let until = holding.map(|veil| veil.heard + MOMENT).min()?;
        // A little longer rather than a little too soon, or we would look again and again.
        Some((until.saturating_sub(now) / 1_000 + 1) as u16)
    }

    /// Shows what was held back for a moment.
    pub(crate) fn release(&mut self, now: u64) {
        let Printed { log, outputs, sources, .. } = self;
        for source in sources {
            if source.veil.as_ref().is_some_and(|veil| veil.masker.is_holding() && now >= veil.heard + MOMENT) {
                source.flush(log, outputs);
            }
        }
    }

    /// Reads once from each pipe that `ready`, in the order of [`Printed::open`], says has something.
    pub(crate) fn read(&mut self, ready: &[bool]) {
        let Printed { log, outputs, sources, buffer, .. } = self;
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
            source.close(&mut self.log, &mut self.outputs);
        }
        self.log.finish(at);
    }
}

impl Source {
    /// Whether the pipe is still open.
    fn read(&mut self, buffer: &mut Vec<u8>, log: &mut Log, outputs: &mut Outputs) -> bool {
        match self.pipe.read(buffer) {
            Ok(length) if length > 0 => {
                self.take(&buffer[..length], log, outputs);
                if length == buffer.len() {
                    buffer.resize(FRAME_MAX, 0);
                }
                true
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => true,
            Ok(_) | Err(_) => {
                self.close(log, outputs);
                false
            }
        }
    }

    fn take(&mut self, bytes: &[u8], log: &mut Log, outputs: &mut Outputs) {
        match &mut self.veil {
            None => {
                log.append(self.stream, wall_micros(), bytes);
                self.line.feed(bytes, outputs);
            }
            Some(veil) => {
                veil.heard = boot_micros();
                veil.masker.feed(bytes, &mut veil.clean);
                self.keep_clean(log, outputs);
            }
        }
    }

    fn flush(&mut self, log: &mut Log, outputs: &mut Outputs) {
        if let Some(veil) = &mut self.veil {
            veil.masker.flush(&mut veil.clean);
            self.keep_clean(log, outputs);
        }
    }

    fn keep_clean(&mut self, log: &mut Log, outputs: &mut Outputs) {
        let Some(veil) = &mut self.veil else { return };
        // What was held comes with what is new, and may be more than one frame takes.
        for part in veil.clean.chunks(FRAME_MAX) {
            log.append(self.stream, wall_micros(), part);
        }
        self.line.feed(&veil.clean, outputs);
        veil.clean.clear();
    }

    fn close(&mut self, log: &mut Log, outputs: &mut Outputs) {
        self.flush(log, outputs);
        self.line.close(outputs);
    }
}
