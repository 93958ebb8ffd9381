//! What a task is told in confidence, and what must not be read in its output. Comes through a descriptor that only the
//! shim inherits, and lives in memory; it is never in a file, an argument or the shim's own environment.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use zeroize::{Zeroize, Zeroizing};

use crate::mask::Masks;
use crate::record::{self, Writer};

const TITLE: &str = "duly-secrets 1";

#[derive(Default, Clone, PartialEq, Eq)]
pub struct Secrets {
    /// Further variables of the task.
    pub env: Vec<(OsString, Vec<u8>)>,
    /// Words that are hidden in all it prints.
    pub words: Vec<Vec<u8>>,
    /// The same for words that line ends may break.
    pub wrapped: Vec<Vec<u8>>,
}

impl Secrets {
    pub fn masks(&self) -> Masks {
        Masks::new(&self.words, &self.wrapped)
    }

    pub fn encode(&self) -> Zeroizing<Vec<u8>> {
        let mut file = Writer::new(TITLE);
        for (name, value) in &self.env {
            file.bytes("name", name.as_bytes());
            file.bytes("value", value);
        }
        self.words.iter().for_each(|word| file.bytes("word", word));
        self.wrapped.iter().for_each(|word| file.bytes("wrapped", word));
        Zeroizing::new(file.finish())
    }

    pub fn decode(bytes: &[u8]) -> io::Result<Secrets> {
        let mut secrets = Secrets::default();
        for (name, value) in record::read(TITLE, bytes)? {
            match name {
                "name" => secrets.env.push((OsString::from_vec(value.to_vec()), Vec::new())),
                "value" => {
                    let last = secrets.env.last_mut();
                    last.ok_or_else(|| record::broken(TITLE, "a value without name"))?.1 = value.to_vec();
                }
                "word" => secrets.words.push(value.to_vec()),
                "wrapped" => secrets.wrapped.push(value.to_vec()),
                _ => {}
            }
        }
        Ok(secrets)
    }

    /// Reads them from the standard input, and closes that. Less than was announced is nothing: a task never starts
    /// without what it was to be told.
    pub(crate) fn from_stdin(announced: u64) -> io::Result<Secrets> {
        let mut bytes = Zeroizing::new(Vec::new());
        io::stdin().lock().take(announced + 1).read_to_end(&mut bytes)?;
        nix::unistd::dup2_stdin(File::open("/dev/null")?)?;
        if bytes.len() as u64 != announced {
            return Err(record::broken(TITLE, "they are not whole"));
        }
        Secrets::decode(&bytes)
    }
}

impl Drop for Secrets {
    fn drop(&mut self) {
        self.env.iter_mut().for_each(|(_, value)| value.zeroize());
        self.words.zeroize();
        self.wrapped.zeroize();
    }
}

/// Only how many there are.
impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Secrets({})", self.env.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_read_as_they_were_written_and_never_printed() {
        let secrets = Secrets {
            env: vec![("A".into(), b"hunter22".to_vec()), ("B".into(), b"x\ny".to_vec())],
            words: vec![b"hunter22".to_vec()],
            wrapped: vec![b"aHVu".to_vec()],
        };
        assert_eq!(Secrets::decode(&secrets.encode()).unwrap(), secrets);
        assert_eq!(format!("{secrets:?}"), "Secrets(2)");
        let whole = secrets.encode();
        assert!(Secrets::decode(&whole[..whole.len() - 1]).is_err());
    }
}
