//! The audit's chain: the hash of each entry covers the one before it, so that nothing can be changed, taken out or moved
//! without everything after it being written anew. What an entry says is a text here; only its digest goes into the
//! chain, so that an entry may be withheld from somebody who checks the rest.

mod walk;

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

pub use self::walk::{Finding, Noted, Walk, Walked};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sum(pub [u8; 32]);

impl Sum {
    pub fn of(text: &str) -> Sum {
        Sum(Sha256::digest(text.as_bytes()).into())
    }
}

/// A place in the chain: an entry's number and its hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    pub seq: i64,
    pub hash: Sum,
}

impl Mark {
    /// Before the first entry.
    pub const BEGINNING: Mark = Mark { seq: 0, hash: Sum([0; 32]) };

    /// The entry that follows: the hash is of three lines, its number, the hash before it, and its digest.
    pub fn next(self, digest: Sum) -> Mark {
        let seq = self.seq + 1;
        Mark { seq, hash: Sum::of(&format!("{seq}\n{}\n{digest}", self.hash)) }
    }
}

/// An entry as it is kept, or was written out, without its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    pub mark: Mark,
    pub digest: Sum,
    /// The entry says that everything up to there was dropped when its time was over.
    pub signs_off: Option<Mark>,
}

impl fmt::Display for Sum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Sum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a hash has 64 hexadecimal digits")]
pub struct NotASum;

impl FromStr for Sum {
    type Err = NotASum;

    fn from_str(text: &str) -> Result<Sum, NotASum> {
        let digits = text.as_bytes();
        let value = |digit: u8| (digit as char).to_digit(16).map(|value| value as u8);
        let mut sum = [0; 32];
        if digits.len() != 64 {
            return Err(NotASum);
        }
        for (byte, pair) in sum.iter_mut().zip(digits.chunks_exact(2)) {
            let (high, low) = (value(pair[0]).ok_or(NotASum)?, value(pair[1]).ok_or(NotASum)?);
            *byte = high << 4 | low;
        }
        Ok(Sum(sum))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_of_number_hash_before_and_digest() {
        // As `printf '1\n000…\n%s' "$(printf entry | sha256sum)" | sha256sum` says it.
        let digest = Sum::of("entry");
        assert_eq!(digest.to_string(), "923fe53966c6cd9343e11af776cd4b05be315ea4b200b02e4d5dfb0f929b73bf");
        let first = Mark::BEGINNING.next(digest);
        assert_eq!(first.seq, 1);
        assert_eq!(first.hash, Sum::of(&format!("1\n{}\n{digest}", "0".repeat(64))));
        assert_ne!(first.next(digest).hash, first.hash);
    }

    #[test]
    fn hashes_are_read_as_they_are_written() {
        let sum = Sum::of("x");
        assert_eq!(sum.to_string().parse(), Ok(sum));
        assert_eq!(sum.to_string().to_uppercase().parse(), Ok(sum));
        for bad in ["", "00", &"g".repeat(64), &"é".repeat(32)] {
            assert_eq!(bad.parse::<Sum>(), Err(NotASum));
        }
    }
}
