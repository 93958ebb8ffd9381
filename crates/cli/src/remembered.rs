//! Who you are to each server, kept for you alone between two commands: what `duly setup` and `duly login` were given.
//! A token that is named by option or environment is used instead, and never written here.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A file of one line per server, readable by its owner only.
#[derive(Clone, Debug)]
pub struct Remembered {
    path: PathBuf,
}

impl Remembered {
    /// Where it lies for whoever runs this: `DULY_CREDENTIALS`, or below the directory for configuration. None for
    /// somebody without a home.
    pub fn of_this_user() -> Option<Remembered> {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let path = set("DULY_CREDENTIALS").or_else(|| {
            let config = set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config")))?;
            Some(config.join("duly/credentials.json"))
        });
        Some(Remembered { path: path? })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn token(&self, url: &str) -> io::Result<Option<String>> {
        Ok(self.read()?.remove(key(url)))
    }

    pub fn keep(&self, url: &str, token: &str) -> io::Result<()> {
        let mut kept = self.read()?;
        kept.insert(key(url).to_owned(), token.to_owned());
        self.write(&kept)
    }

    /// False: there was nothing to forget.
    pub fn forget(&self, url: &str) -> io::Result<bool> {
        let mut kept = self.read()?;
        let known = kept.remove(key(url)).is_some();
        if known {
            self.write(&kept)?;
        }
        Ok(known)
    }

    fn read(&self) -> io::Result<BTreeMap<String, String>> {
        let file = match std::fs::File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
            Err(error) => return Err(error),
        };
        if file.metadata()?.mode() & 0o077 != 0 {
            return Err(io::Error::other("others may read it; make it your own with chmod 600"));
        }
        Ok(serde_json::from_reader(io::BufReader::new(file))?)
    }

    /// Whole or not at all: two commands at once leave one of their files, never a torn one.
    fn write(&self, kept: &BTreeMap<String, String>) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let new = self.path.with_extension(format!("{}.new", std::process::id()));
        let mut file = std::fs::OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&new)?;
        serde_json::to_writer_pretty(&mut file, kept)?;
        file.write_all(b"\n")?;
        file.sync_all()?;
        std::fs::rename(&new, &self.path)
    }
}

/// The same server is meant with and without a slash at the end.
fn key(url: &str) -> &str {
    url.trim_end_matches('/')
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn each_server_has_its_own_until_it_is_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        let kept = Remembered { path: dir.path().join("deep/credentials.json") };
        assert_eq!(kept.token("http://a").unwrap(), None);
        kept.keep("http://a/", "one").unwrap();
        kept.keep("http://b", "two").unwrap();
        assert_eq!(kept.token("http://a").unwrap().as_deref(), Some("one"));
        assert!(kept.forget("http://a").unwrap() && !kept.forget("http://a").unwrap());
        assert_eq!((kept.token("http://a").unwrap(), kept.token("http://b/").unwrap().as_deref()), (None, Some("two")));
        let mode = std::fs::metadata(kept.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn what_others_can_read_is_not_used() {
        let dir = tempfile::tempdir().unwrap();
        let kept = Remembered { path: dir.path().join("credentials.json") };
        kept.keep("http://a", "one").unwrap();
        std::fs::set_permissions(kept.path(), std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(kept.token("http://a").unwrap_err().to_string().contains("chmod 600"));
    }
}
