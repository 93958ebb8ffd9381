//! Scripts on disk: each source once, under the name of its hash, and the command that runs it.
//! Never trusts a file it finds: what is not the source it was asked for is written again.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use sha2::{Digest, Sha256};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ScriptKind {
    Shell,
    Python,
    Node,
    Php,
    PowerShell,
}

#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    #[error("this machine has no {program} in its path, which a {kind:?} script needs")]
    NoInterpreter { kind: ScriptKind, program: &'static str },
    #[error("cannot keep script {path}")]
    Keep {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// The scripts of one agent.
#[derive(Debug)]
pub struct Scripts {
    dir: PathBuf,
    path: OsString,
    drafts: AtomicU64,
    readers: Readers,
}

/// Who runs scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Readers {
    /// The agent's own user.
    Own,
    /// Others, who can read what they know the name of, and list nothing.
    Others,
}

impl ScriptKind {
    fn extension(self) -> &'static str {
        match self {
            ScriptKind::Shell => "sh",
            ScriptKind::Python => "py",
            ScriptKind::Node => "js",
            ScriptKind::Php => "php",
            ScriptKind::PowerShell => "ps1",
        }
    }

    fn interpreter(self) -> (&'static str, &'static [&'static str]) {
        match self {
            ScriptKind::Shell => ("/bin/sh", &[]),
            ScriptKind::Python => ("python3", &[]),
            ScriptKind::Node => ("node", &[]),
            ScriptKind::Php => ("php", &[]),
            ScriptKind::PowerShell => ("pwsh", &["-NoProfile", "-File"]),
        }
    }
}

impl Scripts {
    /// `path` is where interpreters are looked for: the agent's `PATH`.
    pub fn new(dir: impl Into<PathBuf>, path: impl Into<OsString>) -> Scripts {
        Scripts { dir: dir.into(), path: path.into(), drafts: AtomicU64::new(0), readers: Readers::Own }
    }

    /// The same, for scripts that other users run.
    pub fn for_others(self) -> Scripts {
        Scripts { readers: Readers::Others, ..self }
    }

    /// The command that runs this source; the job's own arguments follow it.
    pub fn prepare(&self, kind: ScriptKind, source: &[u8]) -> Result<Vec<OsString>, ScriptError> {
        let (program, options) = kind.interpreter();
        let program = find(program, &self.path).ok_or(ScriptError::NoInterpreter { kind, program })?;
        let script = self.keep(kind, source)?;
        let mut argv = vec![program.into_os_string()];
        argv.extend(options.iter().map(OsString::from));
        argv.push(script.into_os_string());
        Ok(argv)
    }

    fn keep(&self, kind: ScriptKind, source: &[u8]) -> Result<PathBuf, ScriptError> {
        let hash: String = Sha256::digest(source).iter().map(|byte| format!("{byte:02x}")).collect();
        let path = self.dir.join(format!("{hash}.{}", kind.extension()));
        if fs::read(&path).is_ok_and(|kept| kept == source) {
            return Ok(path);
        }
        match self.write(&path, source) {
            Ok(()) => Ok(path),
            Err(source) => Err(ScriptError::Keep { path, source }),
        }
    }

    fn write(&self, path: &Path, source: &[u8]) -> io::Result<()> {
        let (dir_mode, file_mode) = match self.readers {
            Readers::Own => (0o700, 0o700),
            Readers::Others => (0o711, 0o755),
        };
        DirBuilder::new().recursive(true).mode(dir_mode).create(&self.dir)?;
        // Two attempts may bring the same new source at once: each writes its own draft, either may win.
        let draft = self.dir.join(format!(".draft-{}", self.drafts.fetch_add(1, Ordering::Relaxed)));
        let mut file = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&draft)?;
        file.write_all(source)?;
        file.set_permissions(fs::Permissions::from_mode(file_mode))?;
        fs::rename(&draft, path)
    }
}

/// An absolute name stays what it is, wherever it is joined.
fn find(program: &str, path: &OsStr) -> Option<PathBuf> {
    let dirs = std::env::split_paths(path).filter(|dir| dir.is_absolute()).chain(["/".into()]);
    let mut places = dirs.map(|dir| dir.join(program));
    places.find(|place| fs::metadata(place).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0))
}
