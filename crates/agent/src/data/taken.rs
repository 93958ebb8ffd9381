//! One small file for each attempt that was taken and whose ending is not acknowledged: written before its task can
//! start, so that a killed agent knows afterwards what may have run, and how to judge the way it ended.

use std::fs;
use std::io;
use std::path::Path;

use model::{Span, Timestamp};
use serde::{Deserialize, Serialize};
use wire::task::ExitCodes;

use crate::session::Taken;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TakenFile {
    pub(crate) attempt: i64,
    pub(crate) shard: u32,
    pub(crate) until: i64,
    pub(crate) leash_us: Option<i64>,
    pub(crate) started_at: i64,
    pub(crate) doing: Doing,
    pub(crate) exit: ExitCodes,
}

/// What runs the task, and so what is left of it when the agent dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Doing {
    /// A shim, which outlives us.
    Process,
    /// The agent itself.
    Http,
}

impl TakenFile {
    /// Whole or not at all is not needed: a file cut short by our death was written for a task that did not start.
    pub(crate) fn write(&self, dir: &Path) -> io::Result<()> {
        let bytes = serde_json::to_vec(self).expect("a taken attempt is plain data");
        fs::write(dir.join(self.attempt.to_string()), bytes)
    }

    pub(crate) fn remove(dir: &Path, attempt: i64) -> io::Result<()> {
        match fs::remove_file(dir.join(attempt.to_string())) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    /// All that can be read, by attempt; the names of the others.
    pub(crate) fn all(dir: &Path) -> io::Result<(Vec<TakenFile>, Vec<String>)> {
        let (mut taken, mut unreadable) = (Vec::new(), Vec::new());
        for entry in fs::read_dir(dir)? {
            let path = entry?.path();
            match serde_json::from_slice(&fs::read(&path)?) {
                Ok(file) => taken.push(file),
                Err(_) => unreadable.push(path.display().to_string()),
            }
        }
        taken.sort_unstable_by_key(|file: &TakenFile| file.attempt);
        Ok((taken, unreadable))
    }

    pub(crate) fn session(&self) -> Taken {
        Taken {
            attempt: self.attempt,
            shard: self.shard,
            until: Timestamp(self.until),
            started_at: Some(Timestamp(self.started_at)),
            leash: self.leash_us.map(Span),
        }
    }
}
