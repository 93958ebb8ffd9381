//! Moves every secret from its key to the newest. What was moved stays moved and the old key stays known until nothing is
//! under it, so it may be killed at any moment and begun again.

use store::access::Access;
use store::values::SealedSecret;

use super::key::{self, Key};
use super::seal::{self, Label};
use super::{KEY_ID, Vault, VaultError};
use crate::access::AccessHandle;

/// Rows between two looks.
const AT_ONCE: usize = 100;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Rotated {
    /// The key everything is under now.
    pub(crate) key_id: String,
    /// How many secrets were moved to it.
    pub(crate) moved: u64,
}

impl Vault {
    /// With keys of our own a new one is made, unless an earlier change of keys is only half done: then that is ended.
    pub(crate) async fn rotate(&self, access: &AccessHandle) -> Result<Rotated, VaultError> {
        let _turn = self.0.turn.lock().await;
        if self.0.file.is_some() && !self.is_between() {
            self.begin(Key::make())?;
        }
        let vault = self.clone();
        access.run(move |access| Ok(vault.finish(access))).await?
    }

    /// A change of keys was begun and not ended: the server was killed meanwhile.
    pub(crate) fn is_between(&self) -> bool {
        self.0.file.is_some() && self.0.keys.read().len() > 1
    }

    /// The new key is on disk before anything is under it.
    pub(super) fn begin(&self, new: Key) -> Result<(), VaultError> {
        let mut keys = vec![new];
        keys.extend(self.0.keys.read().iter().cloned());
        if let Some(file) = &self.0.file {
            key::write(file, &keys)?;
        }
        *self.0.keys.write() = keys;
        Ok(())
    }

    pub(super) fn finish(&self, access: &mut dyn Access) -> Result<Rotated, VaultError> {
        let newest = self.0.keys.read().first().cloned().ok_or(VaultError::NoKey)?;
        let before = access.setting(KEY_ID)?;
        access.put_setting(KEY_ID, Some(newest.id()))?;
        let mut moved = 0;
        while let some @ 1.. = self.rewrap_some(access, &newest, AT_ONCE)? {
            moved += some;
        }
        if let Some(file) = &self.0.file {
            key::write(file, std::slice::from_ref(&newest))?;
            *self.0.keys.write() = vec![newest.clone()];
        } else if moved == 0 && before.is_none_or(|before| before == newest.id()) {
            return Err(VaultError::NothingNew);
        }
        Ok(Rotated { key_id: newest.id().to_owned(), moved })
    }

    /// How many of them; 0 when none is left.
    pub(super) fn rewrap_some(&self, access: &mut dyn Access, to: &Key, limit: usize) -> Result<u64, VaultError> {
        let mut some = 0;
        for secret in access.not_under(to.id(), limit)? {
            let from = self.key(&secret.key_id)?;
            let wrapped = seal::rewrap(&from, to, Label::of(&secret), &secret.wrapped);
            let wrapped = wrapped.map_err(|_| VaultError::Damaged(secret.name.clone()))?;
            let before = secret.key_id.clone();
            let secret = SealedSecret { key_id: to.id().to_owned(), wrapped, ..secret };
            // One that has a new value meanwhile is found again, if that is under the old key, too.
            access.rewrap(&secret, &before)?;
            some += 1;
        }
        Ok(some)
    }
}
