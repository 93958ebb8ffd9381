//! Master keys: 256 bits each, named by their own hash, the newest first. They wrap the keys of secrets and nothing else,
//! and are never in the store.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

const BYTES: usize = 32;

#[derive(Clone)]
pub(crate) struct Key {
    id: String,
    bytes: Zeroizing<[u8; BYTES]>,
}

impl Key {
    pub(crate) fn make() -> Key {
        let mut bytes = Zeroizing::new([0; BYTES]);
        getrandom::fill(&mut bytes[..]).expect("the system has randomness");
        Key::new(bytes)
    }

    fn new(bytes: Zeroizing<[u8; BYTES]>) -> Key {
        // Not the hash of the key alone: that may be used for something else some day.
        let digest = Sha256::digest([&b"duly master key "[..], &bytes[..]].concat());
        Key { id: digest[..8].iter().map(|byte| format!("{byte:02x}")).collect(), bytes }
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn bytes(&self) -> &[u8; BYTES] {
        &self.bytes
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Key({})", self.id)
    }
}

/// As they are given: base64, with white space or commas between them; lines that begin with # say something.
pub(crate) fn parse(text: &str) -> Result<Vec<Key>, String> {
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    let words = lines.flat_map(|line| line.split([',', ' ', '\t'])).filter(|word| !word.is_empty());
    let keys = words.map(|word| {
        let bytes = Zeroizing::new(STANDARD.decode(word).unwrap_or_default());
        let bytes: [u8; BYTES] = bytes[..].try_into().map_err(|_| "a key is 32 bytes in base64".to_owned())?;
        Ok(Key::new(Zeroizing::new(bytes)))
    });
    let keys: Vec<Key> = keys.collect::<Result<_, String>>()?;
    if keys.is_empty() { Err("there is no key in it".into()) } else { Ok(keys) }
}

/// The keys in a file of ours; none if it is not there.
pub(super) fn read(path: &Path) -> io::Result<Option<Vec<Key>>> {
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        text => Zeroizing::new(text?),
    };
    parse(&text).map(Some).map_err(|why| io::Error::new(io::ErrorKind::InvalidData, why))
}

/// Old file or new, also after a power cut: without its key nobody can read a secret again.
pub(super) fn write(path: &Path, keys: &[Key]) -> io::Result<()> {
    let mut text = Zeroizing::new(String::from(
        "# Keys of this installation's secrets, the newest first. Keep a copy, and keep it secret.\n",
    ));
    for key in keys {
        text.push_str(&Zeroizing::new(STANDARD.encode(&key.bytes[..])));
        text.push('\n');
    }
    let draft = path.with_extension("draft");
    let mut file = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&draft)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&draft, path)?;
    fs::File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()
}
