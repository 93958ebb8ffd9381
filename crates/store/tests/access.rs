//! Who may come in.

use std::collections::BTreeMap;

use duly_store::access::{Access, ExecutorToken, JoinToken, Session, Token, User};
use duly_store::postgres::PgStore;
use duly_store::sqlite::{Options, SqliteStore};
use model::{AgentId, TenantId, Timestamp};

#[path = "support/cluster.rs"]
mod cluster;

/// The same on every store that keeps people.
fn on_each(test: impl Fn(&mut dyn Access)) {
    let dir = tempfile::tempdir().unwrap();
    test(&mut SqliteStore::open(dir.path(), &Options::default()).unwrap().access().unwrap());
    let database = cluster::Database::fresh();
    test(&mut PgStore::open(&database.address, &Default::default()).unwrap().access().unwrap());
}

fn at(secs: i64) -> Timestamp {
    Timestamp::from_secs(secs)
}

#[test]
fn people_are_known_by_name() {
    on_each(|access| {
        let mut ann = User { name: "ann".into(), password: "$argon2…".into(), created_at: at(1) };
        access.put_user(&ann).unwrap();
        ann.password = "another".into();
        access.put_user(&User { created_at: at(9), ..ann.clone() }).unwrap();
        assert_eq!(access.user("ann").unwrap(), Some(ann.clone()));
        assert_eq!((access.user("bob").unwrap(), access.users().unwrap()), (None, vec![ann]));
    });
}

#[test]
fn sessions_end() {
    on_each(|access| {
        let session =
            |n: u8, expires| Session { hash: [n; 32], user: "ann".into(), created_at: at(1), expires_at: at(expires) };
        access.put_session(&session(1, 10)).unwrap();
        access.put_session(&session(2, 20)).unwrap();
        access.put_session(&session(3, 30)).unwrap();
        assert_eq!(access.session(&[1; 32]).unwrap(), Some(session(1, 10)));
        access.remove_session(&[3; 32]).unwrap();
        access.forget_expired(at(10)).unwrap();
        let left = [1, 2, 3].map(|n| access.session(&[n; 32]).unwrap().is_some());
        assert_eq!(left, [false, true, false]);
    });
}

#[test]
fn a_token_is_found_by_its_hash_until_and_after_it_is_revoked() {
    on_each(|access| {
        let mut token = Token {
            id: 0,
            name: "ci".into(),
            hash: [5; 32],
            user: "ann".into(),
            created_at: at(1),
            expires_at: Some(at(99)),
            revoked_at: None,
        };
        token.id = access.put_token(&token).unwrap();
        assert!(access.put_token(&token).is_err(), "a hash belongs to one token");
        assert_eq!(access.token(&[5; 32]).unwrap(), Some(token.clone()));
        assert!(access.revoke_token(token.id, at(7)).unwrap());
        assert!(access.revoke_token(token.id, at(8)).unwrap());
        assert!(!access.revoke_token(token.id + 1, at(8)).unwrap());
        assert_eq!(access.tokens().unwrap(), [Token { revoked_at: Some(at(7)), ..token }]);
        assert_eq!(access.token(&[6; 32]).unwrap(), None);
    });
}

#[test]
fn a_join_token_works_once_and_not_too_late() {
    on_each(|access| {
        let token = |n: u8| JoinToken {
            hash: [n; 32],
            tenant: TenantId(1),
            pools: vec!["default".into(), "gpu".into()],
            labels: BTreeMap::from([("os".into(), "linux".into())]),
            created_at: at(1),
            expires_at: at(10),
        };
        access.put_join_token(&token(1)).unwrap();
        access.put_join_token(&token(2)).unwrap();
        assert_eq!(access.use_join_token(&[2; 32], at(10)).unwrap(), None);
        assert_eq!(access.use_join_token(&[1; 32], at(9)).unwrap(), Some(token(1)));
        assert_eq!(access.use_join_token(&[1; 32], at(9)).unwrap(), None);
    });
}

#[test]
fn agents_and_settings_are_replaced_and_removed() {
    on_each(|access| {
        access.put_agent_secret(AgentId(4), &[1; 32]).unwrap();
        access.put_agent_secret(AgentId(4), &[2; 32]).unwrap();
        assert_eq!(access.agent_secrets().unwrap(), [(AgentId(4), [2; 32])]);
        access.remove_agent_secret(AgentId(4)).unwrap();
        assert!(access.agent_secrets().unwrap().is_empty());

        access.put_setting("setup", Some("a")).unwrap();
        access.put_setting("setup", Some("b")).unwrap();
        assert_eq!(access.setting("setup").unwrap().as_deref(), Some("b"));
        assert_eq!(access.keep_setting("setup", "c").unwrap(), "b", "the first one stays");
        access.put_setting("setup", None).unwrap();
        assert_eq!(access.setting("setup").unwrap(), None);
        assert_eq!(access.keep_setting("setup", "c").unwrap(), "c");
    });
}

#[test]
fn executors_show_tokens_that_are_kept_readable() {
    on_each(|access| {
        let mut token = ExecutorToken {
            id: 0,
            token: "xxl_1".into(),
            tenant: TenantId(1),
            pool: Some("orders".into()),
            created_at: at(1),
            created_by: "ann".into(),
        };
        token.id = access.put_executor_token(&token).unwrap();
        assert!(access.put_executor_token(&token).is_err(), "a token is one token");
        assert_eq!(access.executor_tokens().unwrap(), [token.clone()]);
        assert!(access.remove_executor_token(token.id).unwrap());
        assert!(!access.remove_executor_token(token.id).unwrap());
        assert!(access.executor_tokens().unwrap().is_empty());
    });
}
