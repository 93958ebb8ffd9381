//! Seals and opens secrets, and moves them from key to key. The only place that has keys: it answers values to whoever
//! sends an order, and to nobody else.

mod key;
mod rotate;
mod seal;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::{Actor, TenantId, Timestamp};
use parking_lot::RwLock;
use store::StoreError;
use store::access::Access;
use store::values::SealedSecret;
use zeroize::Zeroizing;

use key::Key;
use seal::Label;

/// Beside the embedded store.
pub(crate) const KEY_FILE: &str = "secret.key";
/// In the settings: under which key new values are sealed, the same for every server.
const KEY_ID: &str = "secret.key_id";

/// Where the keys come from.
#[derive(Clone, Default)]
pub enum SecretKeys {
    /// From a file of our own in the data directory; with a store that servers share there are none.
    #[default]
    Own,
    /// As they were given to the server, the newest first.
    Given(Zeroizing<String>),
}

impl std::fmt::Debug for SecretKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            SecretKeys::Own => "Own",
            SecretKeys::Given(_) => "Given",
        })
    }
}

#[derive(Clone)]
pub(crate) struct Vault(Arc<Inner>);

struct Inner {
    keys: RwLock<Vec<Key>>,
    /// None: the keys are not ours to change.
    file: Option<PathBuf>,
    /// Nothing is sealed while keys are changed.
    turn: tokio::sync::Mutex<()>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum VaultError {
    #[error("this server has no key to keep secrets with")]
    NoKey,
    #[error("the secrets are kept under the key {0}, which this server was not given")]
    OtherKey(String),
    #[error("the secret {0} cannot be opened: it was changed in the store, or sealed for somebody else")]
    Damaged(String),
    #[error("everything is kept under the newest key already")]
    NothingNew,
    #[error("the secret was changed by somebody else at the same time, again and again")]
    Contended,
    #[error("cannot use the key file")]
    File(#[from] io::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A value on its way into the store.
pub(crate) struct Wish {
    pub(crate) tenant: TenantId,
    pub(crate) name: String,
    pub(crate) folder: String,
    pub(crate) value: Zeroizing<String>,
    pub(crate) by: Actor,
    pub(crate) at: Timestamp,
}

impl Vault {
    /// `shared`: the store has other servers.
    pub(crate) fn open(keys: &SecretKeys, data: &Path, shared: bool) -> io::Result<Vault> {
        let (keys, file) = match keys {
            SecretKeys::Given(text) => {
                let bad =
                    |why| io::Error::new(io::ErrorKind::InvalidInput, format!("the keys given cannot be used: {why}"));
                (key::parse(text).map_err(bad)?, None)
            }
            SecretKeys::Own if shared => (Vec::new(), None),
            SecretKeys::Own => {
                let path = data.join(KEY_FILE);
                let keys = match key::read(&path)? {
                    Some(keys) => keys,
                    None => {
                        let keys = vec![Key::make()];
                        key::write(&path, &keys)?;
                        keys
                    }
                };
                (keys, Some(path))
            }
        };
        Ok(Vault(Arc::new(Inner { keys: RwLock::new(keys), file, turn: tokio::sync::Mutex::default() })))
    }

    /// Keeps a new value, after whatever is there.
    pub(crate) async fn keep(
        &self,
        access: &crate::access::AccessHandle,
        wish: Wish,
    ) -> Result<SealedSecret, VaultError> {
        let _turn = self.0.turn.lock().await;
        let vault = self.clone();
        access.run(move |access| Ok(vault.keep_now(access, &wish))).await?
    }

    fn keep_now(&self, access: &mut dyn Access, wish: &Wish) -> Result<SealedSecret, VaultError> {
        let key = self.sealing_key(access)?;
        // Somebody else may be faster; then ours follows theirs.
        for _ in 0..10 {
            let before = access.secret(wish.tenant, &wish.name)?;
            let label = Label {
                tenant: wish.tenant,
                name: &wish.name,
                folder: &wish.folder,
                version: before.as_ref().map_or(1, |before| before.version + 1),
            };
            let (wrapped, sealed) = seal::seal(&key, label, wish.value.as_bytes());
            let secret = SealedSecret {
                tenant: wish.tenant,
                name: wish.name.clone(),
                folder: wish.folder.clone(),
                version: label.version,
                key_id: key.id().to_owned(),
                wrapped,
                sealed,
                changed_at: wish.at,
                changed_by: wish.by.0.clone(),
            };
            if access.put_secret(&secret)? {
                return Ok(secret);
            }
        }
        Err(VaultError::Contended)
    }

    /// The key all servers seal with; the first to ask says which.
    fn sealing_key(&self, access: &mut dyn Access) -> Result<Key, VaultError> {
        let newest = self.0.keys.read().first().cloned().ok_or(VaultError::NoKey)?;
        let id = access.keep_setting(KEY_ID, newest.id())?;
        self.key(&id)
    }

    fn key(&self, id: &str) -> Result<Key, VaultError> {
        let keys = self.0.keys.read();
        if keys.is_empty() {
            return Err(VaultError::NoKey);
        }
        keys.iter().find(|key| key.id() == id).cloned().ok_or_else(|| VaultError::OtherKey(id.to_owned()))
    }

    /// The value, for the one order it is sent with.
    pub(crate) fn value(&self, secret: &SealedSecret) -> Result<Zeroizing<String>, VaultError> {
        let key = self.key(&secret.key_id)?;
        let damaged = || VaultError::Damaged(secret.name.clone());
        let opened = seal::open(&key, Label::of(secret), &secret.wrapped, &secret.sealed).map_err(|_| damaged())?;
        let text = std::str::from_utf8(&opened).map_err(|_| damaged())?;
        Ok(Zeroizing::new(text.to_owned()))
    }
}

#[cfg(test)]
mod tests;
