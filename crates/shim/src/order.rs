//! What a shim is told to run. Written by the agent before the shim exists, read once, then removed. Secrets are not in
//! it; it only says that there are some.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::time::Duration;

use crate::record::{self, Writer};

const TITLE: &str = "duly-order 1";
/// With secrets. A shim that knows none must not start the task without them.
const TITLE_SECRET: &str = "duly-order 2";
/// An order that confines its task: a shim from before would pass over how, so it must not know the title.
const CONFINED: &str = "duly-order 3";

/// One attempt to run, with everything that limits it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShimOrder {
    pub attempt: i64,
    /// The program and its arguments. A name without a slash is looked for in the `PATH` of `env`.
    pub argv: Vec<OsString>,
    pub cwd: PathBuf,
    /// The whole environment of the task; the shim adds only [`crate::TASK_TAG`], by which it finds stray processes.
    pub env: Vec<(OsString, OsString)>,
    /// Relative paths start in the attempt's directory; without a file the task reads the end at once.
    pub stdin: Option<PathBuf>,
    pub timeout: Option<Duration>,
    /// Between asking a tree to end and killing it, when the stop itself does not say.
    pub grace: Duration,
    pub log_bytes_max: u64,
    pub log_lines_max: u64,
    /// The first deadline, in microseconds of the boot clock. The agent moves it on with `process::extend_leash`.
    pub leash: Option<u64>,
    /// A directory of cgroup v2 in which we may make groups.
    pub cgroup: Option<PathBuf>,
    /// The soft limit of open files a task gets: the agent may have raised its own.
    pub open_files: Option<u64>,
    /// How many bytes of [`crate::Secrets`] the shim finds on its standard input.
    pub secrets: Option<u64>,
    /// As whom the task runs; as we do if absent. Only root can become another.
    pub run_as: Option<RunAs>,
    /// `cwd` was judged as it is written: the task must not start anywhere else, whatever became of it since.
    pub cwd_exact: bool,
}

/// A user with all its groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunAs {
    pub uid: u32,
    pub gid: u32,
    pub groups: Vec<u32>,
}

impl ShimOrder {
    pub fn new(attempt: i64, argv: impl IntoIterator<Item = impl Into<OsString>>) -> ShimOrder {
        ShimOrder {
            attempt,
            argv: argv.into_iter().map(Into::into).collect(),
            cwd: PathBuf::from("/"),
            env: Vec::new(),
            stdin: None,
            timeout: None,
            grace: Duration::from_secs(10),
            log_bytes_max: u64::MAX,
            log_lines_max: u64::MAX,
            leash: None,
            cgroup: None,
            open_files: None,
            secrets: None,
            run_as: None,
            cwd_exact: false,
        }
    }

    /// `boot` names the run of the machine in which the order was given.
    pub fn encode(&self, boot: &str) -> Vec<u8> {
        let title = match (self.run_as.is_some() || self.cwd_exact, self.secrets.is_some()) {
            (true, _) => CONFINED,
            (false, true) => TITLE_SECRET,
            (false, false) => TITLE,
        };
        let mut file = Writer::new(title);
        file.bytes("boot", boot.as_bytes());
        file.number("attempt", self.attempt);
        self.argv.iter().for_each(|arg| file.bytes("arg", arg.as_bytes()));
        file.bytes("cwd", self.cwd.as_os_str().as_bytes());
        for (name, value) in &self.env {
            file.bytes("name", name.as_bytes());
            file.bytes("value", value.as_bytes());
        }
        file.number("grace", micros(self.grace));
        file.number("log_bytes_max", self.log_bytes_max);
        file.number("log_lines_max", self.log_lines_max);
        let numbers = [
            ("timeout", self.timeout.map(micros)),
            ("leash", self.leash),
            ("open_files", self.open_files),
            ("secrets", self.secrets),
        ];
        for (name, value) in numbers {
            value.into_iter().for_each(|value| file.number(name, value));
        }
        if let Some(RunAs { uid, gid, groups }) = &self.run_as {
            file.number("uid", *uid);
            file.number("gid", *gid);
            groups.iter().for_each(|group| file.number("group", *group));
        }
        if self.cwd_exact {
            file.number("cwd_exact", 1);
        }
        for (name, path) in [("stdin", &self.stdin), ("cgroup", &self.cgroup)] {
            path.iter().for_each(|path| file.bytes(name, path.as_os_str().as_bytes()));
        }
        file.finish()
    }

    /// The order and the boot it was given in.
    pub fn decode(file: &[u8]) -> io::Result<(ShimOrder, String)> {
        let mut order = ShimOrder::new(0, [""; 0]);
        let mut boot = String::new();
        let titles = [CONFINED, TITLE_SECRET];
        let title = titles.into_iter().find(|title| file.starts_with(title.as_bytes())).unwrap_or(TITLE);
        for (name, value) in record::read(title, file)? {
            let path = || PathBuf::from(string(value));
            match name {
                "boot" => boot = record::text(value),
                "attempt" => order.attempt = record::number(name, value)?,
                "arg" => order.argv.push(string(value)),
                "cwd" => order.cwd = path(),
                "name" => order.env.push((string(value), OsString::new())),
                "value" => {
                    order.env.last_mut().ok_or_else(|| record::broken(TITLE, "a value without name"))?.1 = string(value)
                }
                "grace" => order.grace = Duration::from_micros(record::number(name, value)?),
                "log_bytes_max" => order.log_bytes_max = record::number(name, value)?,
                "log_lines_max" => order.log_lines_max = record::number(name, value)?,
                "timeout" => order.timeout = Some(Duration::from_micros(record::number(name, value)?)),
                "leash" => order.leash = Some(record::number(name, value)?),
                "open_files" => order.open_files = Some(record::number(name, value)?),
                "secrets" => order.secrets = Some(record::number(name, value)?),
                "stdin" => order.stdin = Some(path()),
                "cgroup" => order.cgroup = Some(path()),
                "uid" => {
                    order.run_as = Some(RunAs { uid: record::number(name, value)?, gid: u32::MAX, groups: Vec::new() })
                }
                "gid" | "group" => {
                    let as_whom = order.run_as.as_mut().ok_or_else(|| record::broken(TITLE, "a group without user"))?;
                    let number = record::number(name, value)?;
                    match name {
                        "gid" => as_whom.gid = number,
                        _ => as_whom.groups.push(number),
                    }
                }
                "cwd_exact" => order.cwd_exact = true,
                _ => {}
            }
        }
        if order.run_as.as_ref().is_some_and(|user| user.gid == u32::MAX || user.uid == u32::MAX) {
            return Err(record::broken(TITLE, "its user has no group"));
        }
        if order.argv.is_empty() {
            return Err(record::broken(TITLE, "it names no program"));
        }
        Ok((order, boot))
    }
}

pub(crate) fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

fn string(bytes: &[u8]) -> OsString {
    OsString::from_vec(bytes.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_read_as_it_was_written() {
        let mut order = ShimOrder::new(42, ["printf", "a b\n"]);
        order.env = vec![("A".into(), "1=2\n".into()), ("B".into(), OsString::from_vec(vec![0xff]))];
        order.timeout = Some(Duration::from_millis(1500));
        order.leash = Some(7);
        order.stdin = Some("input".into());
        order.secrets = Some(9);
        order.run_as = Some(RunAs { uid: 65534, gid: 65533, groups: vec![4, 27] });
        order.cwd_exact = true;
        let (read, boot) = ShimOrder::decode(&order.encode("this boot")).unwrap();
        assert_eq!((read, boot.as_str()), (order, "this boot"));
    }
}
