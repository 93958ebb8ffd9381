//! Makes the process of an order, held at a gate until its owner is on record. Never runs a program itself.

use std::ffi::{CString, OsString};
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;

use super::order::ShimOrder;
use super::result::Reason;
use super::sys::{self, Failure, Launch};

const PATH_WITHOUT_ONE: &[u8] = b"/usr/local/bin:/usr/bin:/bin";

pub(crate) struct Task {
    pub(crate) pid: i32,
    gate: PipeWriter,
    errors: PipeReader,
}

impl Task {
    /// The task and its standard output and error. `tag` goes into the environment. An error is the attempt's result.
    pub(crate) fn prepare(order: &ShimOrder, tag: (&str, &str)) -> Result<(Task, [PipeReader; 2]), Reason> {
        let stdin = order.stdin.as_deref().unwrap_or("/dev/null".as_ref());
        let stdin = File::open(stdin).map_err(|error| failed(&format!("cannot read {}", stdin.display()), error))?;
        let strings = Strings::of(order, tag).map_err(|error| failed("cannot pass a text with a zero byte", error))?;
        fork(order, &strings, stdin).map_err(|error| failed("cannot make a process", error))
    }

    /// Lets the process become the task.
    pub(crate) fn release(&mut self) -> io::Result<()> {
        self.gate.write_all(&[1])
    }

    /// Why it could not become the task, asked after its end.
    pub(crate) fn failure(&mut self, order: &ShimOrder) -> Option<Reason> {
        let mut answer = Vec::with_capacity(Failure::SIZE);
        self.errors.read_to_end(&mut answer).ok()?;
        let (what, path, errno) = match Failure::decode(&answer)? {
            Failure::Enter(errno) => ("enter", order.cwd.as_os_str(), errno),
            Failure::Execute(errno) => ("run", order.argv[0].as_os_str(), errno),
        };
        Some(failed(&format!("cannot {what} {}", path.display()), io::Error::from_raw_os_error(errno)))
    }
}

fn fork(order: &ShimOrder, strings: &Strings, stdin: File) -> io::Result<(Task, [PipeReader; 2])> {
    let (stdout, task_stdout) = io::pipe()?;
    let (stderr, task_stderr) = io::pipe()?;
    let (task_gate, gate) = io::pipe()?;
    let (errors, task_errors) = io::pipe()?;
    let pid = sys::fork(&Launch {
        programs: &strings.programs,
        argv: &strings.argv,
        env: &strings.env,
        cwd: &strings.cwd,
        stdin: stdin.as_fd(),
        stdout: task_stdout.as_fd(),
        stderr: task_stderr.as_fd(),
        gate: task_gate.as_fd(),
        errors: task_errors.as_fd(),
        open_files: order.open_files,
    })?;
    Ok((Task { pid, gate, errors }, [stdout, stderr]))
}

struct Strings {
    programs: Vec<CString>,
    argv: Vec<CString>,
    env: Vec<CString>,
    cwd: CString,
}

impl Strings {
    fn of(order: &ShimOrder, tag: (&str, &str)) -> io::Result<Strings> {
        let tag = (OsString::from(tag.0), OsString::from(tag.1));
        let assignment =
            |name: &OsString, value: &OsString| CString::new([name.as_bytes(), b"=", value.as_bytes()].concat());
        let given = order.env.iter().filter(|(name, _)| *name != tag.0).chain([&tag]);
        Ok(Strings {
            programs: programs(order)?,
            argv: order.argv.iter().map(|arg| CString::new(arg.as_bytes())).collect::<Result<_, _>>()?,
            env: given.map(|(name, value)| assignment(name, value)).collect::<Result<_, _>>()?,
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
