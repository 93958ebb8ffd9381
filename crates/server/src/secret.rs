//! Secrets: made from the system's randomness, kept only as hashes, compared in constant time.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use store::access::SecretHash;
use subtle::ConstantTimeEq;

/// A new secret of 256 bits; the prefix tells a person (and a secret scanner) what it is.
pub(crate) fn make(prefix: &str) -> String {
    let mut bytes = [0u8; 32];
    getrandom::fill(&mut bytes).expect("the system has randomness");
    format!("{prefix}_{}", URL_SAFE_NO_PAD.encode(bytes))
}

/// Secrets of high entropy need no slow hash.
pub(crate) fn hash(secret: &str) -> SecretHash {
    Sha256::digest(secret.as_bytes()).into()
}

pub(crate) fn same(a: &SecretHash, b: &SecretHash) -> bool {
    a.ct_eq(b).into()
}
