//! Where tasks may get a cgroup v2 of their own. Never asks for one: a directory that is not ours to write is done
//! without, because a task's tree is found by its parents as well.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Cgroups {
    /// Below the group the agent itself is in, if it may make groups there.
    #[default]
    Auto,
    Off,
    /// A directory somebody delegated to us.
    In(PathBuf),
}

impl std::str::FromStr for Cgroups {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Cgroups, Self::Err> {
        Ok(match text {
            "auto" => Cgroups::Auto,
            "off" => Cgroups::Off,
            dir => Cgroups::In(dir.into()),
        })
    }
}

impl Cgroups {
    /// The directory in which attempts get their groups. Two agents of one machine have two.
    pub(super) fn find(&self, data: &Path) -> Option<PathBuf> {
        let found = match self {
            Cgroups::Off => return None,
            Cgroups::Auto => own_group().and_then(|parent| make(&parent, data)),
            Cgroups::In(dir) => make(dir, data),
        };
        match (self, &found) {
            (Cgroups::In(dir), None) => {
                tracing::warn!(dir = %dir.display(), "no cgroups can be made there; tasks run without");
            }
            _ => tracing::debug!(dir = ?found, "cgroups of tasks"),
        }
        found
    }
}

/// The kernel keeps it while tasks are in it.
pub(super) fn leave(dir: Option<PathBuf>) {
    if let Some(dir) = dir {
        let _ = fs::remove_dir(dir);
    }
}

fn make(parent: &Path, data: &Path) -> Option<PathBuf> {
    let dir = parent.join(format!("duly-{}", fs::metadata(data).ok()?.ino()));
    match fs::create_dir(&dir) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(_) => return None,
    }
    // A plain directory takes a folder too, but has none of the kernel's files in it.
    let works = dir.join("cgroup.kill").exists();
    if !works {
        let _ = fs::remove_dir(&dir);
    }
    works.then_some(dir)
}

fn own_group() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    group_in(&mounts, &groups)
}

fn group_in(mounts: &str, groups: &str) -> Option<PathBuf> {
    let own = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    // id parent device root where options… - type source options
    let unified = mounts.lines().find(|line| line.contains(" - cgroup2 "))?;
    let mut fields = unified.split(' ').skip(3);
    let (root, mounted) = (fields.next()?, fields.next()?);
    let below = Path::new(own).strip_prefix(root).ok()?;
    Some(Path::new(mounted).join(below))
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIFIED: &str =
        "24 1 0:22 / /proc rw - proc proc rw\n30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n";

    #[test]
    fn the_own_group_is_found_below_the_mount() {
        let found = |groups| group_in(UNIFIED, groups).map(|path| path.display().to_string());
        assert_eq!(
            found("0::/system.slice/duly.service\n").as_deref(),
            Some("/sys/fs/cgroup/system.slice/duly.service")
        );
        assert_eq!(found("9:pids:/x\n0::/\n").as_deref(), Some("/sys/fs/cgroup/"));
        assert_eq!(found("9:pids:/x\n"), None, "a machine without version 2");
        let inside = UNIFIED.replace(" / /sys", " /box/1 /sys");
        assert_eq!(group_in(&inside, "0::/box/1/a"), Some("/sys/fs/cgroup/a".into()), "a mount of a part");
        assert_eq!(group_in(&inside, "0::/elsewhere"), None);
    }

    #[test]
    fn a_plain_directory_is_no_place_for_groups() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Cgroups::In(dir.path().into()).find(dir.path()), None);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "nothing is left there");
        assert_eq!(Cgroups::Off.find(dir.path()), None);
    }
}
