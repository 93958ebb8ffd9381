//! Secrets kept, opened and moved, with an embedded store behind them.

use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::access::AccessHandle;
use crate::stores::StorePlace;

struct World {
    dir: tempfile::TempDir,
    vault: Vault,
    access: AccessHandle,
}

impl World {
    fn new() -> World {
        let dir = tempfile::tempdir().unwrap();
        World::at(dir, &SecretKeys::Own)
    }

    fn at(dir: tempfile::TempDir, keys: &SecretKeys) -> World {
        let access = AccessHandle::new(StorePlace::Embedded.open(dir.path(), 8).unwrap().access);
        let vault = Vault::open(keys, dir.path(), false).unwrap();
        World { dir, vault, access }
    }

    /// As after a kill: what is in memory is gone.
    fn restarted(self) -> World {
        World::at(self.dir, &SecretKeys::Own)
    }

    async fn keep(&self, name: &str, value: &str) -> Result<SealedSecret, VaultError> {
        let wish = Wish {
            tenant: TenantId::DEFAULT,
            name: name.into(),
            folder: String::new(),
            value: Zeroizing::new(value.into()),
            by: Actor("ann".into()),
            at: Timestamp(1),
        };
        self.vault.keep(&self.access, wish).await
    }

    async fn values(&self) -> Vec<String> {
        let names = ["a", "b", "c"];
        let rows =
            self.access.run(move |access| names.iter().map(|n| access.secret(TenantId::DEFAULT, n)).collect()).await;
        let rows: Vec<Option<SealedSecret>> = rows.unwrap();
        rows.iter().flatten().map(|row| self.vault.value(row).unwrap().to_string()).collect()
    }

    fn keys(&self) -> usize {
        key::read(&self.dir.path().join(KEY_FILE)).unwrap().unwrap().len()
    }

    async fn left_under_old_keys(&self) -> usize {
        let newest = self.vault.0.keys.read()[0].id().to_owned();
        self.access.run(move |access| access.not_under(&newest, 100)).await.unwrap().len()
    }
}

#[tokio::test]
async fn a_value_comes_back_after_a_restart_and_each_has_its_version() {
    let world = World::new();
    assert_eq!(world.keep("a", "hunter22").await.unwrap().version, 1);
    assert_eq!(world.keep("a", "hunter23").await.unwrap().version, 2);
    let world = world.restarted();
    assert_eq!(world.values().await, ["hunter23"]);
    let mode = std::fs::metadata(world.dir.path().join(KEY_FILE)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(!format!("{:?}", SecretKeys::Given(Zeroizing::new("k3y".into()))).contains("k3y"));
}

#[tokio::test]
async fn a_rotation_that_is_killed_half_way_loses_nothing_and_goes_on() {
    let world = World::new();
    for (name, value) in [("a", "hunter22"), ("b", "hunter23"), ("c", "hunter24")] {
        world.keep(name, value).await.unwrap();
    }
    let old = world.vault.0.keys.read()[0].id().to_owned();
    // Killed when the new key was made, and again when one secret had been moved.
    world.vault.begin(Key::make()).unwrap();
    let world = world.restarted();
    assert_eq!(world.values().await, ["hunter22", "hunter23", "hunter24"]);
    let (vault, newest) = (world.vault.clone(), world.vault.0.keys.read()[0].clone());
    assert_ne!(newest.id(), old);
    world.access.run(move |access| Ok(vault.rewrap_some(access, &newest, 1).unwrap())).await.unwrap();
    let world = world.restarted();
    assert_eq!((world.keys(), world.left_under_old_keys().await), (2, 2));
    assert_eq!(world.values().await, ["hunter22", "hunter23", "hunter24"]);
    world.keep("a", "hunter25").await.unwrap();
    assert!(world.vault.is_between());
    world.vault.rotate(&world.access).await.unwrap();
    assert_eq!((world.keys(), world.left_under_old_keys().await), (1, 0));
    let world = world.restarted();
    assert_eq!(world.values().await, ["hunter25", "hunter23", "hunter24"]);
    let again = world.vault.rotate(&world.access).await.unwrap();
    assert_eq!(again.moved, 3, "the next one makes another key");
}

#[tokio::test]
async fn keys_that_were_given_are_changed_by_whoever_gave_them() {
    let text = |keys: &[&Key]| -> SecretKeys {
        use base64::Engine as _;
        let texts: Vec<String> =
            keys.iter().map(|key| base64::engine::general_purpose::STANDARD.encode(key.bytes())).collect();
        SecretKeys::Given(Zeroizing::new(texts.join(",")))
    };
    let (old, new) = (Key::make(), Key::make());
    let dir = tempfile::tempdir().unwrap();
    let world = World::at(dir, &text(&[&old]));
    world.keep("a", "hunter22").await.unwrap();
    assert!(matches!(world.vault.rotate(&world.access).await, Err(VaultError::NothingNew)));
    let world = World::at(world.dir, &text(&[&new]));
    let refused = world.keep("b", "hunter23").await.unwrap_err().to_string();
    assert!(refused.contains(old.id()), "{refused}");
    let world = World::at(world.dir, &text(&[&new, &old]));
    assert_eq!(
        world.keep("b", "hunter23").await.unwrap().key_id,
        old.id(),
        "servers that have one key only can read it"
    );
    assert_eq!(world.vault.rotate(&world.access).await.unwrap().moved, 2);
    let world = World::at(world.dir, &text(&[&new]));
    assert_eq!(world.values().await, ["hunter22", "hunter23"]);
    assert!(!world.dir.path().join(KEY_FILE).exists());
}

#[test]
fn servers_that_share_a_store_have_no_key_of_their_own() {
    let dir = tempfile::tempdir().unwrap();
    let vault = Vault::open(&SecretKeys::Own, dir.path(), true).unwrap();
    assert!(matches!(vault.key("any"), Err(VaultError::NoKey)));
    assert!(!dir.path().join(KEY_FILE).exists());
    let bad = Vault::open(&SecretKeys::Given(Zeroizing::new("c2hvcnQ=".into())), dir.path(), true).err().unwrap();
    assert_eq!(bad.to_string(), "the keys given cannot be used: a key is 32 bytes in base64");
}
