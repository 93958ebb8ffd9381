//! The agent's own directory: who it is, which terms it has seen, which attempts it has taken. Everything it must know
//! again after it was killed is below here, readable by its user only.

mod lock;
mod taken;

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

pub use lock::Lock;
pub(crate) use taken::{Doing, TakenFile};

#[derive(Debug, thiserror::Error)]
pub enum DataError {
    #[error("an agent is running already on {dir} (pid {pid})")]
    InUse { dir: PathBuf, pid: String },
    #[error("cannot use {path}")]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{dir} was removed or replaced while this agent ran on it; another may be at work there now")]
    Gone { dir: PathBuf },
    #[error("{path} is damaged: {why}")]
    Damaged { path: PathBuf, why: String },
}

/// Whom the server knows this agent as.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    pub agent: i64,
    pub secret: String,
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Identity").field("agent", &self.agent).finish_non_exhaustive()
    }
}

/// The directory, held by a lock for as long as this lives.
#[derive(Debug)]
pub struct DataDir {
    root: PathBuf,
    lock: Lock,
}

impl DataDir {
    pub fn open(root: &Path) -> Result<DataDir, DataError> {
        let root = std::path::absolute(root).map_err(|source| io_error(root, source))?;
        DirBuilder::new().recursive(true).mode(0o700).create(&root).map_err(|source| io_error(&root, source))?;
        // It may have been made by hand.
        fs::set_permissions(&root, fs::Permissions::from_mode(0o700)).map_err(|source| io_error(&root, source))?;
        let lock = Lock::take(&root)?;
        for sub in ["run", "taken", "spool", "scripts"] {
            let path = root.join(sub);
            DirBuilder::new().recursive(true).mode(0o700).create(&path).map_err(|source| io_error(&path, source))?;
        }
        Ok(DataDir { root, lock })
    }

    /// An agent whose directory was taken away would read who it is from the next one's, and both would be taken for one.
    pub(crate) fn check_in_place(&self) -> Result<(), DataError> {
        if self.lock.is_in_place() { Ok(()) } else { Err(DataError::Gone { dir: self.root.clone() }) }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A directory for each attempt that left files.
    pub fn run(&self) -> PathBuf {
        self.root.join("run")
    }

    pub(crate) fn taken(&self) -> PathBuf {
        self.root.join("taken")
    }

    pub fn spool(&self) -> PathBuf {
        self.root.join("spool")
    }

    pub fn scripts(&self) -> PathBuf {
        self.root.join("scripts")
    }

    /// A script is written again when it is needed again, so what is old can go.
    pub fn forget_scripts_older_than(&self, age: Duration) -> io::Result<()> {
        forget_older_than(&self.scripts(), age)
    }

    pub fn identity(&self) -> Result<Option<Identity>, DataError> {
        let path = self.root.join("identity");
        let Some(bytes) = read(&path)? else { return Ok(None) };
        let identity = serde_json::from_slice(&bytes);
        identity.map(Some).map_err(|error| DataError::Damaged { path, why: error.to_string() })
    }

    pub fn keep_identity(&self, identity: &Identity) -> Result<(), DataError> {
        let bytes = serde_json::to_vec(identity).expect("an identity is plain data");
        keep_for_good(&self.root.join("identity"), &bytes)
    }

    /// The highest term seen of each shard.
    pub fn terms(&self) -> Result<Vec<(u32, i64)>, DataError> {
        let path = self.root.join("terms");
        let Some(bytes) = read(&path)? else { return Ok(Vec::new()) };
        let text = String::from_utf8_lossy(&bytes);
        let term = |line: &str| {
            let (shard, term) = line.split_once(' ')?;
            Some((shard.parse().ok()?, term.parse().ok()?))
        };
        // An agent that has lost its fences must not guess them.
        let terms: Option<Vec<_>> = text.lines().map(term).collect();
        terms.ok_or(DataError::Damaged { path, why: "a line is not a shard and its term".into() })
    }

    pub fn keep_terms(&self, terms: impl IntoIterator<Item = (u32, i64)>) -> Result<(), DataError> {
        let text: String = terms.into_iter().map(|(shard, term)| format!("{shard} {term}\n")).collect();
        keep_for_good(&self.root.join("terms"), text.as_bytes())
    }

    /// Who vouches for the servers (PEM), if they speak TLS.
    pub fn authority(&self) -> Result<Option<Vec<u8>>, DataError> {
        read(&self.root.join("ca.pem"))
    }

    pub fn keep_authority(&self, pem: &str) -> Result<(), DataError> {
        keep_for_good(&self.root.join("ca.pem"), pem.as_bytes())
    }

    /// Where servers were, as they last said: a way back when none of the configured addresses answers.
    pub fn servers(&self) -> Result<Vec<String>, DataError> {
        let bytes = read(&self.root.join("servers"))?.unwrap_or_default();
        Ok(String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect())
    }

    pub fn keep_servers(&self, endpoints: &[String]) -> Result<(), DataError> {
        let text: String = endpoints.iter().map(|endpoint| format!("{endpoint}\n")).collect();
        keep_for_good(&self.root.join("servers"), text.as_bytes())
    }

    /// Whether the machine was started anew since `remember_boot`. Stays true over restarts of the agent, until it is
    /// sure that the servers know.
    pub fn rebooted(&self) -> Result<bool, DataError> {
        match read(&self.root.join("boot"))? {
            Some(before) => Ok(before != crate::shim::boot_id().into_bytes()),
            None => self.remember_boot().map(|()| false),
        }
    }

    /// From now on this start of the machine is the usual one.
    pub fn remember_boot(&self) -> Result<(), DataError> {
        keep_for_good(&self.root.join("boot"), crate::shim::boot_id().as_bytes())
    }
}

/// Files of this directory that nobody has written for so long.
pub(crate) fn forget_older_than(dir: &Path, age: Duration) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let written = entry.metadata()?.modified()?;
        if SystemTime::now().duration_since(written).is_ok_and(|since| since > age) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<Option<Vec<u8>>, DataError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(io_error(path, source)),
    }
}

/// Replaces a file so that it is there after a power cut, the old one or the new.
fn keep_for_good(path: &Path, bytes: &[u8]) -> Result<(), DataError> {
    let replace = || {
        let draft = path.with_extension("draft");
        let mut file = File::options().create(true).truncate(true).write(true).mode(0o600).open(&draft)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&draft, path)?;
        File::open(path.parent().expect("a file of ours is in a directory of ours"))?.sync_all()
    };
    replace().map_err(|source| io_error(path, source))
}

fn io_error(path: &Path, source: io::Error) -> DataError {
    DataError::Io { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn what_is_kept_is_there_after_a_restart_and_for_us_alone() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("agent");
        fs::create_dir(&root).unwrap();
        fs::set_permissions(&root, fs::Permissions::from_mode(0o755)).unwrap();
        let data = DataDir::open(&root).unwrap();
        let identity = Identity { agent: 7, secret: "s3cret".into() };
        assert_eq!((data.identity().unwrap(), data.terms().unwrap()), (None, vec![]));
        data.keep_identity(&identity).unwrap();
        data.keep_terms([(1, 5), (64, 9)]).unwrap();
        drop(data);
        let data = DataDir::open(&root).unwrap();
        assert_eq!((data.identity().unwrap(), data.terms().unwrap()), (Some(identity.clone()), vec![(1, 5), (64, 9)]));
        assert_eq!((mode(&root), mode(&root.join("identity"))), (0o700, 0o600));
        assert!(!format!("{identity:?}").contains("s3cret"));
    }

    #[test]
    fn a_second_agent_is_refused_and_told_who_is_there() {
        let dir = tempfile::tempdir().unwrap();
        let first = DataDir::open(dir.path()).unwrap();
        let refused = DataDir::open(dir.path()).unwrap_err().to_string();
        assert!(refused.contains(&format!("pid {}", std::process::id())), "{refused}");
        drop(first);
        DataDir::open(dir.path()).unwrap();
    }

    #[test]
    fn damage_to_fences_or_identity_is_no_fresh_start() {
        let dir = tempfile::tempdir().unwrap();
        let data = DataDir::open(dir.path()).unwrap();
        fs::write(dir.path().join("terms"), "1 5\n2").unwrap();
        fs::write(dir.path().join("identity"), "{").unwrap();
        assert!(matches!(data.terms(), Err(DataError::Damaged { .. })));
        assert!(matches!(data.identity(), Err(DataError::Damaged { .. })));
    }

    #[test]
    fn only_old_scripts_are_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        let data = DataDir::open(dir.path()).unwrap();
        let (old, new) = (data.scripts().join("a.sh"), data.scripts().join("b.sh"));
        fs::write(&new, "").unwrap();
        let day = Duration::from_secs(24 * 3600);
        File::create(&old).unwrap().set_modified(SystemTime::now() - day * 2).unwrap();
        data.forget_scripts_older_than(day).unwrap();
        assert_eq!((old.exists(), new.exists()), (false, true));
    }

    #[test]
    fn a_new_boot_is_told_until_it_is_remembered() {
        let dir = tempfile::tempdir().unwrap();
        let data = DataDir::open(dir.path()).unwrap();
        assert!(!data.rebooted().unwrap(), "the first start ever is no reboot");
        assert!(!data.rebooted().unwrap());
        fs::write(dir.path().join("boot"), "another").unwrap();
        assert!(data.rebooted().unwrap());
        assert!(data.rebooted().unwrap(), "an agent that died before it could tell tells it the next time");
        data.remember_boot().unwrap();
        assert!(!data.rebooted().unwrap());
    }
}
