//! What the machine's policy means for one task: the user it becomes, the directory it starts in once all links in it
//! are followed, the program it may run. Looks at the disk and starts nothing.

use std::ffi::{CString, OsStr, OsString};
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use nix::unistd::{Uid, User, geteuid, getgrouplist};
use wire::Code;

use crate::policy::{BadPolicy, Policy, Refusal};
use crate::shim::RunAs;

/// A user of this machine a task runs as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Person {
    pub(crate) name: String,
    pub(crate) home: PathBuf,
    /// None: the agent is this user already.
    pub(crate) run_as: Option<RunAs>,
}

impl Person {
    fn find(name: &str) -> Result<Person, String> {
        let user = User::from_name(name).map_err(|errno| format!("cannot look up user {name}: {errno}"))?;
        let user = user.ok_or_else(|| format!("this machine has no user {name}"))?;
        if user.uid == geteuid() {
            return Ok(Person { name: user.name, home: user.dir, run_as: None });
        }
        if !geteuid().is_root() {
            return Err(format!("only an agent that runs as root can run tasks as {name}"));
        }
        let text = CString::new(name).map_err(|_| "a name holds a zero byte".to_string())?;
        let groups =
            getgrouplist(&text, user.gid).map_err(|errno| format!("cannot find the groups of {name}: {errno}"))?;
        let groups = groups.into_iter().map(|group| group.as_raw()).collect();
        let run_as = RunAs { uid: user.uid.as_raw(), gid: user.gid.as_raw(), groups };
        Ok(Person { name: user.name, home: user.dir, run_as: Some(run_as) })
    }
}

/// Whom the task runs as; none if the policy leaves it to the agent's own user.
pub(super) fn person(
    policy: &Policy,
    asked: Option<&str>,
    tenant: &str,
    pool: &str,
) -> Result<Option<Person>, Refusal> {
    let Some(name) = policy.user(asked, tenant, pool)? else { return Ok(None) };
    let found = Person::find(name).map_err(|why| Refusal::new(Code::UserForbidden, "run_as", why))?;
    Ok(Some(found))
}

/// The directory a task asks for, judged as it really is.
pub(super) fn place(policy: &Policy, asked: &Path) -> Result<PathBuf, Refusal> {
    let gone = |error: io::Error| {
        let what = format!("{} cannot be entered: {error}", asked.display());
        Refusal::new(Code::PlaceForbidden, "allow.directories", what)
    };
    let real = asked.canonicalize().map_err(gone)?;
    policy.judge_place(&real)?;
    Ok(real)
}

/// The program of a command, judged as it really is: found in the task's own path if it is a bare name.
pub(super) fn program(policy: &Policy, asked: &OsStr, path: Option<&OsString>, cwd: &Path) -> Result<(), Refusal> {
    if policy.programs.is_none() {
        return Ok(());
    }
    let tried: Vec<PathBuf> = if asked.as_bytes().contains(&b'/') {
        vec![cwd.join(asked)]
    } else {
        std::env::split_paths(path.map_or(OsStr::new(""), OsString::as_os_str)).map(|dir| dir.join(asked)).collect()
    };
    // The first that is there is the one that will be run.
    let real = tried.iter().find_map(|place| place.canonicalize().ok());
    let missing = || {
        let what = format!("there is no {}", asked.display());
        Refusal::new(Code::ProgramForbidden, "allow.programs", what)
    };
    policy.judge_program(&real.ok_or_else(missing)?)
}

/// Checks that this machine can do what the policy asks for, and makes the place where tasks of other users start.
pub(crate) fn prepare(policy: &Policy) -> Result<Option<PathBuf>, BadPolicy> {
    let bad = |why: String| BadPolicy {
        file: policy.file.as_ref().map_or("agent.toml".into(), |file| file.display().to_string()),
        why,
    };
    let people: Vec<Person> =
        policy.all_users().map(|name| Person::find(name)).collect::<Result<_, _>>().map_err(bad)?;
    let others: Vec<Person> = people.into_iter().filter(|person| person.run_as.is_some()).collect();
    let Some(first) = others.first() else { return Ok(None) };
    let Some(work) = &policy.work else {
        let why = format!(
            "tasks run as {}, who cannot enter the agent's own directory; add work = \"/srv/duly-work\", a place it can enter",
            first.name
        );
        return Err(bad(why));
    };
    open_to_all(work).map_err(|error| bad(format!("work: cannot use {}: {error}", work.display())))?;
    for person in &others {
        let home = of_user(work, &person.name);
        own(&home, person).map_err(|error| bad(format!("work: cannot use {}: {error}", home.display())))?;
        if let Some(shut) = first_shut(work, person) {
            return Err(bad(format!(
                "work: {} cannot enter {}; allow it, or name another place",
                person.name,
                shut.display()
            )));
        }
    }
    Ok(Some(work.clone()))
}

/// Where tasks of this user start that name no directory.
pub(super) fn of_user(work: &Path, name: &str) -> PathBuf {
    work.join(format!("of-{name}"))
}

fn open_to_all(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o711).create(dir)?;
    let there = fs::symlink_metadata(dir)?;
    if !there.is_dir() || there.uid() != geteuid().as_raw() {
        return Err(io::Error::other("it is no directory of the agent's own user"));
    }
    fs::set_permissions(dir, fs::Permissions::from_mode(0o711))
}

fn own(dir: &Path, person: &Person) -> io::Result<()> {
    let Some(RunAs { uid, gid, .. }) = &person.run_as else { return Ok(()) };
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    chown(dir, Some(*uid), Some(*gid))
}

/// The first directory on the way that this user may not pass.
fn first_shut(dir: &Path, person: &Person) -> Option<PathBuf> {
    let Some(RunAs { uid, gid, groups }) = &person.run_as else { return None };
    let way: Vec<&Path> = dir.ancestors().collect();
    let shut = way.into_iter().rev().find(|place| {
        let Ok(there) = fs::metadata(place) else { return true };
        let bit = if there.uid() == *uid {
            0o100
        } else if there.gid() == *gid || groups.contains(&there.gid()) {
            0o010
        } else {
            0o001
        };
        there.mode() & bit == 0 && !Uid::from_raw(*uid).is_root()
    });
    shut.map(Path::to_owned)
}
