//! Starts the program of an order, with both its streams led to us.

use std::ffi::{CString, OsString};
use std::fs::File;
use std::io::{self, PipeReader};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;

use nix::unistd::{Gid, Uid, fchown};

use crate::order::ShimOrder;
use crate::result::Reason;
use crate::secrets::Secrets;
use crate::sys::{self, Failure, Launch};

const PATH_WITHOUT_ONE: &[u8] = b"/usr/local/bin:/usr/bin:/bin";

pub(crate) struct Task {
    pub(crate) pid: i32,
    pub(crate) in_cgroup: bool,
    pub(crate) stdout: PipeReader,
    pub(crate) stderr: PipeReader,
}

/// Runs the order; secrets and `tag` go into the environment. A failure is the attempt's result.
pub(crate) fn start(
    order: &ShimOrder,
    secrets: Option<&Secrets>,
    tag: (&str, &str),
    cgroup: Option<BorrowedFd>,
) -> Result<Task, Reason> {
    let stdin = order.stdin.as_deref().unwrap_or("/dev/null".as_ref());
    let stdin = File::open(stdin).map_err(|error| failed(&format!("cannot read {}", stdin.display()), error))?;
    let strings =
        Strings::of(order, secrets, tag).map_err(|error| failed("cannot pass a text with a zero byte", error))?;
    let pipes = || Ok((io::pipe()?, io::pipe()?));
    let ((stdout, task_stdout), (stderr, task_stderr)) =
        pipes().map_err(|error| failed("cannot make a pipe", error))?;
    if let Some(user) = &order.run_as {
        // A task may open its own output anew, as /dev/stdout.
        let (uid, gid) = (Some(Uid::from_raw(user.uid)), Some(Gid::from_raw(user.gid)));
        for end in [&task_stdout, &task_stderr] {
            fchown(end, uid, gid).map_err(|errno| failed("cannot hand its output over", errno.into()))?;
        }
    }
    let launch = Launch {
        programs: &strings.programs,
        argv: &strings.argv,
        env: &strings.env,
        cwd: &strings.cwd,
        stdin: stdin.as_fd(),
        stdout: task_stdout.as_fd(),
        stderr: task_stderr.as_fd(),
        open_files: order.open_files,
        cgroup,
        run_as: order.run_as.as_ref(),
        cwd_exact: order.cwd_exact,
    };
    let launched = sys::launch(&launch).map_err(|failure| explain(failure, order))?;
    Ok(Task { pid: launched.pid, in_cgroup: launched.joined, stdout, stderr })
}

fn explain(failure: Failure, order: &ShimOrder) -> Reason {
    let (what, errno) = match failure {
        Failure::Make(errno) => ("cannot make a process".to_owned(), errno),
        Failure::Enter(errno) => (format!("cannot enter {}", order.cwd.display()), errno),
        Failure::Become(errno) => ("cannot become the user the task runs as".to_owned(), errno),
        Failure::Elsewhere => (format!("{} is not where it was", order.cwd.display()), libc::EPERM),
        Failure::Execute(errno) => (format!("cannot run {}", order.argv[0].display()), errno),
    };
    failed(&what, io::Error::from_raw_os_error(errno))
}

struct Strings {
    programs: Vec<CString>,
    argv: Vec<CString>,
    env: Vec<CString>,
    cwd: CString,
}

impl Strings {
    fn of(order: &ShimOrder, secrets: Option<&Secrets>, tag: (&str, &str)) -> io::Result<Strings> {
        let tag = (OsString::from(tag.0), OsString::from(tag.1));
        let secrets = secrets.map_or(&[][..], |secrets| &secrets.env);
        let assignment = |name: &OsString, value: &[u8]| CString::new([name.as_bytes(), b"=", value].concat());
        let replaced = |name: &OsString| *name == tag.0 || secrets.iter().any(|(secret, _)| secret == name);
        let given = order.env.iter().chain([&tag]).filter(|one| std::ptr::eq(*one, &tag) || !replaced(&one.0));
        let given = given.map(|(name, value)| (name, value.as_bytes()));
        let secrets = secrets.iter().map(|(name, value)| (name, value.as_slice()));
        Ok(Strings {
            programs: programs(order)?,
            argv: order.argv.iter().map(|arg| CString::new(arg.as_bytes())).collect::<Result<_, _>>()?,
            env: given.chain(secrets).map(|(name, value)| assignment(name, value)).collect::<Result<_, _>>()?,
            cwd: CString::new(order.cwd.as_os_str().as_bytes())?,
        })
    }
}

/// Where the program may be: as given, or in each directory of the task's own path.
fn programs(order: &ShimOrder) -> io::Result<Vec<CString>> {
    let program = order.argv[0].as_bytes();
    if program.contains(&b'/') {
        return Ok(vec![CString::new(program)?]);
    }
    let path = order.env.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_bytes());
    let directories = path.unwrap_or(PATH_WITHOUT_ONE).split(|b| *b == b':').filter(|directory| !directory.is_empty());
    directories.map(|directory| Ok(CString::new([directory, b"/", program].concat())?)).collect()
}

fn failed(what: &str, error: io::Error) -> Reason {
    Reason::SpawnFailed { errno: error.raw_os_error().unwrap_or(0), text: format!("{what}: {error}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStringExt;

    fn check(program: &str, path: Option<&str>, expected: &[&str]) {
        let mut order = ShimOrder::new(1, [program]);
        order.env = path.map(|path| ("PATH".into(), path.into())).into_iter().collect();
        let found: Vec<_> = programs(&order).unwrap().into_iter().map(|p| OsString::from_vec(p.into_bytes())).collect();
        assert_eq!(found, expected.iter().map(OsStr::new).collect::<Vec<_>>());
    }

    #[test]
    fn programs_are_looked_for_in_the_path_of_the_task() {
        check("/bin/x", Some("/a"), &["/bin/x"]);
        check("./x", Some("/a"), &["./x"]);
        check("x", Some("/a::/b/c"), &["/a/x", "/b/c/x"]);
        check("x", None, &["/usr/local/bin/x", "/usr/bin/x", "/bin/x"]);
    }
}
