//! How a secret is sealed: its value with a key of its own, that key with a master key, both with XChaCha20-Poly1305 and
//! bound to whose secret it is. Pure but for its randomness; knows no store.

use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use model::TenantId;
use store::values::SealedSecret;
use zeroize::Zeroizing;

use super::key::Key;

const NONCE: usize = 24;

/// Whose secret it is: a row moved to another name, tenant, folder or version opens no more.
#[derive(Clone, Copy)]
pub(super) struct Label<'a> {
    pub(super) tenant: TenantId,
    pub(super) name: &'a str,
    pub(super) folder: &'a str,
    pub(super) version: i64,
}

impl<'a> Label<'a> {
    pub(super) fn of(secret: &'a SealedSecret) -> Label<'a> {
        let SealedSecret { tenant, name, folder, version, .. } = secret;
        Label { tenant: *tenant, name, folder, version: *version }
    }

    /// Lengths before texts, so that no two labels are the same bytes.
    fn bytes(self, what: &[u8]) -> Vec<u8> {
        let mut bytes = b"duly secret 1 ".to_vec();
        bytes.extend_from_slice(what);
        bytes.extend_from_slice(&self.tenant.0.to_le_bytes());
        bytes.extend_from_slice(&self.version.to_le_bytes());
        for text in [self.name, self.folder] {
            bytes.extend_from_slice(&(text.len() as u64).to_le_bytes());
            bytes.extend_from_slice(text.as_bytes());
        }
        bytes
    }
}

/// It was sealed with another key or for somebody else, or was changed since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unopened;

/// The wrapped key and the sealed value.
pub(super) fn seal(master: &Key, label: Label, value: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let own = random::<32>();
    let wrapped = encrypt(master.bytes(), &label.bytes(b"key "), &own[..]);
    (wrapped, encrypt(&own, &label.bytes(b"value "), value))
}

pub(super) fn open(master: &Key, label: Label, wrapped: &[u8], sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>, Unopened> {
    let own = unwrap(master, label, wrapped)?;
    decrypt(&own, &label.bytes(b"value "), sealed)
}

/// The same key under another one; the value stays as it is.
pub(super) fn rewrap(from: &Key, to: &Key, label: Label, wrapped: &[u8]) -> Result<Vec<u8>, Unopened> {
    let own = unwrap(from, label, wrapped)?;
    Ok(encrypt(to.bytes(), &label.bytes(b"key "), &own[..]))
}

fn unwrap(master: &Key, label: Label, wrapped: &[u8]) -> Result<Zeroizing<[u8; 32]>, Unopened> {
    let own = decrypt(master.bytes(), &label.bytes(b"key "), wrapped)?;
    own[..].try_into().map(Zeroizing::new).map_err(|_| Unopened)
}

fn encrypt(key: &[u8; 32], aad: &[u8], msg: &[u8]) -> Vec<u8> {
    let nonce = random::<NONCE>();
    let cipher = XChaCha20Poly1305::new(key.into());
    let text = cipher.encrypt(&XNonce::from(*nonce), Payload { msg, aad });
    [&nonce[..], &text.expect("a value is far shorter than the cipher allows")].concat()
}

fn decrypt(key: &[u8; 32], aad: &[u8], bytes: &[u8]) -> Result<Zeroizing<Vec<u8>>, Unopened> {
    let (nonce, msg) = bytes.split_first_chunk::<NONCE>().ok_or(Unopened)?;
    let cipher = XChaCha20Poly1305::new(key.into());
    let text = cipher.decrypt(&XNonce::from(*nonce), Payload { msg, aad });
    text.map(Zeroizing::new).map_err(|_| Unopened)
}

fn random<const N: usize>() -> Zeroizing<[u8; N]> {
    let mut bytes = Zeroizing::new([0; N]);
    getrandom::fill(&mut bytes[..]).expect("the system has randomness");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    const LABEL: Label = Label { tenant: TenantId(1), name: "db", folder: "a/b", version: 3 };

    #[test]
    fn what_was_sealed_opens_with_its_key_and_label_only() {
        let (key, other) = (Key::make(), Key::make());
        let (wrapped, sealed) = seal(&key, LABEL, b"hunter22");
        assert_eq!(open(&key, LABEL, &wrapped, &sealed).unwrap()[..], b"hunter22"[..]);
        assert_eq!(open(&other, LABEL, &wrapped, &sealed), Err(Unopened));
        for label in [
            Label { tenant: TenantId(2), ..LABEL },
            Label { name: "dba", folder: "/b", ..LABEL },
            Label { folder: "", ..LABEL },
            Label { version: 4, ..LABEL },
        ] {
            assert_eq!(open(&key, label, &wrapped, &sealed), Err(Unopened));
            assert_eq!(rewrap(&key, &other, label, &wrapped), Err(Unopened));
        }
    }

    #[test]
    fn every_change_is_noticed_and_no_two_sealings_are_alike() {
        let key = Key::make();
        let (wrapped, sealed) = seal(&key, LABEL, b"hunter22");
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert_eq!(open(&key, LABEL, &wrapped, &changed), Err(Unopened));
        }
        assert_eq!(open(&key, LABEL, &wrapped, &sealed[..10]), Err(Unopened));
        let (again, value) = seal(&key, LABEL, b"hunter22");
        assert!(again != wrapped && value != sealed);
        assert!(!sealed.windows(8).any(|part| part == b"hunter22"));
    }

    #[test]
    fn a_rewrapped_key_opens_the_same_value() {
        let (old, new) = (Key::make(), Key::make());
        let (wrapped, sealed) = seal(&old, LABEL, b"hunter22");
        let anew = rewrap(&old, &new, LABEL, &wrapped).unwrap();
        assert_eq!(open(&new, LABEL, &anew, &sealed).unwrap()[..], b"hunter22"[..]);
        assert_eq!(open(&old, LABEL, &anew, &sealed), Err(Unopened));
    }
}
