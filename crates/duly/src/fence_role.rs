//! `duly fence-check`: lets a script touch shared data only while its fence is the highest that data has seen. Needs no
//! server: the data itself keeps the number, in a file beside it.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::Context;
use clap::Args;
use nix::fcntl::{Flock, FlockArg};

/// A newer attempt has been here: this one must not write any more.
const STALE: u8 = 8;

#[derive(Args)]
pub(crate) struct FenceOptions {
    /// The file that keeps the highest fence its data has seen; made if absent. It lies beside that data, on the same storage.
    pub file: PathBuf,
    /// The fence to check; a task has its own in DULY_FENCE.
    #[arg(long, env = "DULY_FENCE")]
    pub fence: i64,
    /// Run this while nobody with a higher fence can begin; its exit code is ours.
    #[arg(last = true)]
    pub command: Vec<String>,
}

pub(crate) fn run(options: &FenceOptions) -> ExitCode {
    match check(options) {
        Ok(code) => ExitCode::from(code),
        Err(error) => crate::server_role::report(Err(error)),
    }
}

fn check(options: &FenceOptions) -> Result<u8, anyhow::Error> {
    // Held until the command has ended, so that a newer attempt waits for what is under way.
    let mut kept = lock(&options.file)?;
    let seen = read(&mut kept, &options.file)?;
    if seen > options.fence {
        eprintln!(
            "error E0808: fence {} is stale: {} has seen {seen}, so a newer attempt works there now",
            options.fence,
            options.file.display()
        );
        return Ok(STALE);
    }
    if seen < options.fence {
        write(&mut kept, options.fence)
            .with_context(|| format!("cannot write the fence to {}", options.file.display()))?;
    }
    let Some((program, args)) = options.command.split_first() else { return Ok(0) };
    let status = Command::new(program).args(args).status().with_context(|| format!("cannot run {program}"))?;
    Ok(status.code().map_or(1, |code| code.clamp(0, 255) as u8))
}

fn lock(path: &Path) -> Result<Flock<File>, anyhow::Error> {
    let opened = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(path);
    let file = opened.with_context(|| format!("cannot open {}", path.display()))?;
    Flock::lock(file, FlockArg::LockExclusive)
        .map_err(|(_, error)| error)
        .with_context(|| format!("cannot lock {}", path.display()))
}

/// An empty file has seen nothing.
fn read(file: &mut File, path: &Path) -> Result<i64, anyhow::Error> {
    let mut text = String::new();
    file.read_to_string(&mut text).with_context(|| format!("cannot read {}", path.display()))?;
    match text.trim() {
        "" => Ok(0),
        number => number.parse().with_context(|| format!("{} holds no fence: {number:?}", path.display())),
    }
}

fn write(file: &mut File, fence: i64) -> std::io::Result<()> {
    // A longer number never leaves digits of a shorter one behind: fences only grow.
    file.rewind()?;
    file.write_all(format!("{fence}\n").as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(file: &Path, fence: i64, command: &[&str]) -> u8 {
        let command = command.iter().map(|word| (*word).to_string()).collect();
        check(&FenceOptions { file: file.into(), fence, command }).unwrap()
    }

    #[test]
    fn a_lower_fence_than_the_data_has_seen_is_refused_for_good() {
        let home = tempfile::tempdir().unwrap();
        let (file, made) = (home.path().join("fence"), home.path().join("made"));
        let touch = ["touch", made.to_str().unwrap()];
        assert_eq!(checked(&file, 9, &[]), 0);
        assert_eq!(checked(&file, 9, &[]), 0, "the same attempt may come again");
        assert_eq!(checked(&file, 100, &["sh", "-c", "exit 3"]), 3);
        assert_eq!(checked(&file, 9, &touch), STALE);
        assert!(!made.exists(), "nothing is run under a stale fence");
        assert_eq!(checked(&file, 101, &touch), 0);
        assert!(made.exists());
    }

    #[test]
    fn a_file_that_holds_something_else_is_left_alone() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("fence");
        std::fs::write(&file, "mine").unwrap();
        let refused = check(&FenceOptions { file: file.clone(), fence: 1, command: Vec::new() }).unwrap_err();
        assert!(refused.to_string().contains("holds no fence"), "{refused}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
    }
}
