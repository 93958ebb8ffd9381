//! What the kernel says about processes. Only reads; a process that is gone is `None`, never an error.

use std::fs;
use std::io;

/// The parts of `/proc/<pid>/stat` by which we know a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) pid: i32,
    pub(crate) parent: i32,
    pub(crate) session: i32,
    /// Clock ticks from boot to its start: with the pid, it names a process for good.
    pub(crate) start: u64,
    /// Dead, waiting only to be collected by its parent.
    pub(crate) zombie: bool,
}

pub(crate) fn stat(pid: i32) -> io::Result<Option<Stat>> {
    match fs::read(format!("/proc/{pid}/stat")) {
        Ok(line) => Ok(parse(pid, &line)),
        Err(error) if error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH) => Ok(None),
        Err(error) => Err(error),
    }
}

pub(crate) fn all() -> Vec<Stat> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid| stat(pid).ok()?).collect()
}

/// Every process below `root`, nearest first. Processes may come and go meanwhile: repeat until nothing is left.
pub(crate) fn descendants(root: i32) -> Vec<i32> {
    let mut found = match children(root) {
        Some(children) => children,
        None => return below(root, &all()),
    };
    let mut next = 0;
    while let Some(&pid) = found.get(next) {
        next += 1;
        for child in children(pid).unwrap_or_default() {
            // A process that moves up to us while we look would be listed twice.
            if !found.contains(&child) {
                found.push(child);
            }
        }
    }
    found
}

/// As [`descendants`], from one look at all processes: for kernels without lists of children.
pub(crate) fn below(root: i32, all: &[Stat]) -> Vec<i32> {
    let mut found = vec![root];
    let mut next = 0;
    while let Some(&pid) = found.get(next) {
        next += 1;
        let children = all.iter().filter(|stat| stat.parent == pid && !found.contains(&stat.pid));
        let children: Vec<i32> = children.map(|stat| stat.pid).collect();
        found.extend(children);
    }
    found.split_off(1)
}

pub(crate) fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

fn children(pid: i32) -> Option<Vec<i32>> {
    let mut found = Vec::new();
    for thread in fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten() {
        let list = fs::read_to_string(thread.path().join("children")).ok()?;
        found.extend(list.split_ascii_whitespace().filter_map(|pid| pid.parse::<i32>().ok()));
    }
    Some(found)
}

fn parse(pid: i32, line: &[u8]) -> Option<Stat> {
    // The second field is the program's name in parentheses and may hold anything, parentheses too.
    let after_name = line.iter().rposition(|b| *b == b')')? + 1;
    let fields: Vec<&str> = std::str::from_utf8(&line[after_name..]).ok()?.split_ascii_whitespace().collect();
    Some(Stat {
        pid,
        parent: fields.get(1)?.parse().ok()?,
        session: fields.get(3)?.parse().ok()?,
        start: fields.get(19)?.parse().ok()?,
        zombie: matches!(*fields.first()?, "Z" | "X" | "x"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_spaces_and_parentheses_is_no_trap() {
        let line = b"7 (a) Z 1 (b) S 5 7 6 0 -1 4194304 1 0 0 0 3 4 0 0 20 0 1 0 98765 1 2\n";
        assert_eq!(parse(7, line), Some(Stat { pid: 7, parent: 5, session: 6, start: 98765, zombie: false }));
    }

    #[test]
    fn both_ways_of_looking_find_the_same_children() {
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let (me, pid) = (std::process::id() as i32, child.id() as i32);
        let (near, far) = (descendants(me), below(me, &all()));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(near.contains(&pid) && far.contains(&pid), "{pid} not in {near:?} and {far:?}");
    }
}
