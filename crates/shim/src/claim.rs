//! A shim's signature in its directory: who it is, and where its task runs. It exists before the task does, so that an
//! agent can tell a living shim from a stranger that got its pid later, and find what a dead one left.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use crate::procfs::{self, Stat};
use crate::record::{self, Writer};

const TITLE: &str = "duly-shim 1";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    pub attempt: i64,
    pub boot: String,
    /// Leads the session in which the task starts.
    pub shim: Process,
    pub cgroup: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process {
    pub pid: i32,
    pub start: u64,
}

impl Claim {
    /// The value of [`crate::TASK_TAG`] in the task's environment: unique on this machine until it boots again.
    pub fn tag(&self) -> String {
        format!("{}-{}-{}", self.attempt, self.shim.pid, self.shim.start)
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut file = Writer::new(TITLE);
        file.number("attempt", self.attempt);
        file.bytes("boot", self.boot.as_bytes());
        file.number("pid", self.shim.pid);
        file.number("start", self.shim.start);
        self.cgroup.iter().for_each(|path| file.bytes("cgroup", path.as_os_str().as_bytes()));
        file.finish()
    }

    pub fn decode(file: &[u8]) -> io::Result<Claim> {
        let mut claim = Claim { attempt: 0, boot: String::new(), shim: Process { pid: 0, start: 0 }, cgroup: None };
        for (name, value) in record::read(TITLE, file)? {
            match name {
                "attempt" => claim.attempt = record::number(name, value)?,
                "boot" => claim.boot = record::text(value),
                "pid" => claim.shim.pid = record::number(name, value)?,
                "start" => claim.shim.start = record::number(name, value)?,
                "cgroup" => claim.cgroup = Some(OsString::from_vec(value.to_vec()).into()),
                _ => {}
            }
        }
        Ok(claim)
    }
}

impl Process {
    pub fn of(pid: i32) -> io::Result<Process> {
        let stat = procfs::stat(pid)?.ok_or(io::ErrorKind::NotFound)?;
        Ok(Process { pid, start: stat.start })
    }

    /// Whether `stat` is this very process and not a later one under the same pid.
    pub fn is(&self, stat: &Stat) -> bool {
        self.pid == stat.pid && self.start == stat.start
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_read_as_it_was_written() {
        for cgroup in [None, Some(PathBuf::from("/sys/fs/cgroup/x/attempt-3"))] {
            let claim = Claim { attempt: 3, boot: "b".into(), shim: Process { pid: 11, start: 899 }, cgroup };
            assert_eq!(Claim::decode(&claim.encode()).unwrap(), claim);
        }
    }
}
