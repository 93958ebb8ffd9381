//! What the kernel says about processes. Only reads; a process that is gone is `None`, never an error.

use std::fs::{self, File};
use std::io::{self, Read};

/// Fifty numbers of at most twenty digits, and a name.
const LINE_BYTES_MAX: usize = 2048;

/// The parts of `/proc/<pid>/stat` by which we know a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    pub pid: i32,
    pub parent: i32,
    pub session: i32,
    /// Clock ticks from boot to its start: with the pid, it names a process for good.
    pub start: u64,
    /// Dead, waiting only to be collected by its parent.
    pub zombie: bool,
}

pub fn stat(pid: i32) -> io::Result<Option<Stat>> {
    // One read of a line that always fits: the kernel makes it anew for each.
    let mut line = [0; LINE_BYTES_MAX];
    match File::open(format!("/proc/{pid}/stat")).and_then(|mut file| file.read(&mut line)) {
        Ok(length) => Ok(parse(pid, &line[..length])),
        Err(error) if error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH) => Ok(None),
        Err(error) => Err(error),
    }
}

pub fn all() -> Vec<Stat> {
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
pub fn below(root: i32, all: &[Stat]) -> Vec<i32> {
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

pub fn boot_id() -> String {
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
    let fields = std::str::from_utf8(&line[after_name..]).ok()?;
    let field = |at| fields.split_ascii_whitespace().nth(at);
    Some(Stat {
        pid,
        parent: field(1)?.parse().ok()?,
        session: field(3)?.parse().ok()?,
        start: field(19)?.parse().ok()?,
        zombie: matches!(field(0)?, "Z" | "X" | "x"),
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
