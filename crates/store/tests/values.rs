//! Variables and secrets as rows.

use std::time::{Duration, Instant};

use duly_store::Reads;
use duly_store::access::Access;
use duly_store::postgres::PgStore;
use duly_store::sqlite::{Options, SqliteStore};
use duly_store::values::{PLATFORM, SealedSecret, Variable};
use model::{TenantId, Timestamp};

#[path = "support/cluster.rs"]
mod cluster;

const OURS: TenantId = TenantId(1);
const OTHERS: TenantId = TenantId(2);

/// The same on every store that keeps values.
fn on_each(test: impl Fn(&mut dyn Access, &dyn Reads)) {
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(dir.path(), &Options::default()).unwrap();
    test(&mut store.access().unwrap(), &store.reads().unwrap());
    let database = cluster::Database::fresh();
    let store = PgStore::open(&database.address, &Default::default()).unwrap();
    test(&mut store.access().unwrap(), &store.reads().unwrap());
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(10)
}

fn variable(tenant: TenantId, folder: &str, name: &str, value: &str) -> Variable {
    let (changed_at, changed_by) = (Timestamp::from_secs(1), "ann".into());
    Variable { tenant, folder: folder.into(), name: name.into(), value: value.into(), changed_at, changed_by }
}

fn secret(tenant: TenantId, name: &str, version: i64, key_id: &str) -> SealedSecret {
    SealedSecret {
        tenant,
        name: name.into(),
        folder: "billing".into(),
        version,
        key_id: key_id.into(),
        wrapped: vec![1, 2, version as u8],
        sealed: vec![0, 255, version as u8],
        changed_at: Timestamp::from_secs(version),
        changed_by: "ann".into(),
    }
}

#[test]
fn variables_are_kept_by_level_and_seen_by_their_tenant() {
    on_each(|access, reads| {
        let all = [
            variable(PLATFORM, "", "zone", "world"),
            variable(OURS, "", "zone", "ours"),
            variable(OURS, "billing", "zone", "billing"),
            variable(OURS, "", "rate", "1"),
            variable(OTHERS, "", "zone", "theirs"),
        ];
        all.iter().for_each(|variable| access.put_variable(variable).unwrap());
        access.put_variable(&variable(OURS, "", "rate", "2")).unwrap();
        let seen = |tenant, names: Option<&[String]>| -> Vec<String> {
            let seen = reads.variables(tenant, names, soon()).unwrap();
            seen.into_iter().map(|v| format!("{}/{}:{}={}", v.tenant, v.folder, v.name, v.value)).collect()
        };
        assert_eq!(seen(OURS, None), ["1/:rate=2", "0/:zone=world", "1/:zone=ours", "1/billing:zone=billing"]);
        assert_eq!(seen(OTHERS, Some(&["zone".into(), "none".into()])), ["0/:zone=world", "2/:zone=theirs"]);
        assert_eq!(seen(OURS, Some(&["rate".into()])), ["1/:rate=2"]);
        assert!(seen(OURS, Some(&[])).is_empty());
        assert!(access.remove_variable(OURS, "billing", "zone").unwrap());
        assert!(!access.remove_variable(OURS, "billing", "zone").unwrap());
        assert!(!access.remove_variable(OTHERS, "", "rate").unwrap());
        assert_eq!(seen(OURS, None), ["1/:rate=2", "0/:zone=world", "1/:zone=ours"]);
    });
}

#[test]
fn a_secret_has_one_value_at_a_time_and_each_follows_the_one_before() {
    on_each(|access, reads| {
        let kept = |tenant| reads.secrets(tenant, None, soon()).unwrap();
        assert!(!access.put_secret(&secret(OURS, "db", 2, "k")).unwrap(), "there is no first one");
        assert!(access.put_secret(&secret(OURS, "db", 1, "k")).unwrap());
        assert!(!access.put_secret(&secret(OURS, "db", 1, "k")).unwrap(), "it is there");
        assert!(access.put_secret(&secret(OTHERS, "db", 1, "k")).unwrap());
        assert!(access.put_secret(&secret(OURS, "db", 2, "k")).unwrap());
        assert!(!access.put_secret(&secret(OURS, "db", 2, "k")).unwrap(), "somebody was faster");
        assert_eq!(kept(OURS), [secret(OURS, "db", 2, "k")]);
        assert_eq!(kept(OTHERS), [secret(OTHERS, "db", 1, "k")]);
        assert_eq!(access.secret(OURS, "db").unwrap(), Some(secret(OURS, "db", 2, "k")));
        assert_eq!(access.secret(OURS, "other").unwrap(), None);
        assert_eq!(reads.secrets(OURS, Some(&["db".into()]), soon()).unwrap().len(), 1);
        assert!(reads.secrets(OURS, Some(&["other".into()]), soon()).unwrap().is_empty());
        assert!(access.remove_secret(OURS, "db").unwrap());
        assert!(!access.remove_secret(OURS, "db").unwrap());
        assert!(kept(OURS).is_empty() && kept(OTHERS).len() == 1);
    });
}

#[test]
fn what_is_under_an_old_key_is_found_until_it_is_rewrapped() {
    on_each(|access, reads| {
        let wrapped_anew =
            |secret: &SealedSecret| SealedSecret { key_id: "new".into(), wrapped: vec![9], ..secret.clone() };
        for (tenant, name) in [(OURS, "a"), (OURS, "b"), (OTHERS, "a")] {
            assert!(access.put_secret(&secret(tenant, name, 1, "old")).unwrap());
        }
        let some = access.not_under("new", 2).unwrap();
        assert_eq!(some.iter().map(|s| (s.tenant, s.name.as_str())).collect::<Vec<_>>(), [(OURS, "a"), (OURS, "b")]);
        assert!(access.rewrap(&wrapped_anew(&some[0]), "old").unwrap());
        assert!(!access.rewrap(&wrapped_anew(&some[0]), "old").unwrap(), "once");
        // Its value was changed meanwhile: the key of the old one must not take the place of the new one's.
        assert!(access.put_secret(&secret(OURS, "b", 2, "old")).unwrap());
        assert!(!access.rewrap(&wrapped_anew(&some[1]), "old").unwrap());
        let left = access.not_under("new", 9).unwrap();
        assert_eq!(left.iter().map(|s| (s.tenant, s.version)).collect::<Vec<_>>(), [(OURS, 2), (OTHERS, 1)]);
        left.iter().for_each(|secret| assert!(access.rewrap(&wrapped_anew(secret), "old").unwrap()));
        assert!(access.not_under("new", 9).unwrap().is_empty());
        let kept = reads.secrets(OURS, Some(&["a".into()]), soon()).unwrap();
        assert_eq!(kept, [wrapped_anew(&secret(OURS, "a", 1, "old"))], "nothing else has changed");
    });
}
