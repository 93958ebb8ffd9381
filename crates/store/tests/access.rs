//! Who may come in.

use std::collections::BTreeMap;

use duly_store::access::{Access, ExecutorToken, JoinToken};
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
fn a_join_token_works_once_and_not_too_late() {
    on_each(|access| {
        let token = |n: u8| JoinToken {
            hash: [n; 32],
            serves: model::Serves::Named(vec![TenantId(3), TenantId(9)]),
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
