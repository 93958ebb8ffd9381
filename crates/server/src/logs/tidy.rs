//! Retention: drops whole segments whose latest frame is too old. Never rewrites one.

use std::fs;
use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use model::Timestamp;

use super::LogStore;
use super::segment::{Sealed, micros};

impl LogStore {
    /// Drops the segments that nothing was written to for `keep`; says how many. The open one is ended when its
    /// beginning is that old, so that a quiet store forgets as well. Blocks on the disk.
    pub fn tidy(&self, keep: Duration, now: SystemTime) -> io::Result<usize> {
        let before = now.checked_sub(keep).map_or(Timestamp(0), micros);
        {
            let mut pen = self.shelf.pen.lock();
            let is_old = self.shelf.state.read().open.as_ref().is_some_and(|open| open.oldest < before);
            if is_old {
                self.shelf.finish(&mut pen);
            }
        }
        let old: Vec<Arc<Sealed>> = {
            let mut state = self.shelf.state.write();
            let is_old = |segment: &mut Arc<Sealed>| segment.summary.newest < before;
            state.sealed.extract_if(.., is_old).collect()
        };
        for segment in &old {
            // The segment first: an index alone is swept up at the next start.
            remove(&segment.path)?;
            remove(&segment.path.with_extension("idx"))?;
        }
        Ok(old.len())
    }

    /// Bytes of all segments and their indexes.
    pub fn bytes(&self) -> u64 {
        let state = self.shelf.state.read();
        let open = state.open.as_ref().map_or(0, |open| open.end);
        open + state.sealed.iter().map(|segment| segment.bytes()).sum::<u64>()
    }
}

fn remove(path: &std::path::Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}
