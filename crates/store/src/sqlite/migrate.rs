//! Brings a store's schema up to what this program knows, step by step, each in its own transaction. Never goes back.
//! A step about `instance_day` is taken on every day that has a table.

use rusqlite::Connection;

use super::day::on_day;
use crate::StoreError;

/// The schema's versions; a store's `user_version` says how many of them it has.
pub(super) const STEPS: &[&str] = &[
    include_str!("migrations/0001_begin.sql"),
    include_str!("migrations/0002_retries_used.sql"),
    include_str!("migrations/0003_held_from.sql"),
    include_str!("migrations/0004_executors.sql"),
    include_str!("migrations/0005_shards.sql"),
    include_str!("migrations/0006_between.sql"),
    include_str!("migrations/0007_tenants.sql"),
    include_str!("migrations/0008_audit.sql"),
    include_str!("migrations/0009_people.sql"),
    include_str!("migrations/0010_labels.sql"),
    include_str!("migrations/0011_values.sql"),
    include_str!("migrations/0012_shared_agents.sql"),
    include_str!("migrations/0013_tenants_servers.sql"),
];

/// Marks a file as ours, so that another program's database is not taken for a store.
const APPLICATION_ID: i64 = 0x4475_6c79;

pub(super) fn migrate(conn: &mut Connection, steps: &[&'static str]) -> Result<(), StoreError> {
    if is_strange(conn)? {
        return Err(strange());
    }
    let known = steps.len() as i64;
    let found = number(conn, "user_version")?;
    if found > known {
        return Err(StoreError::Newer { found, known });
    }
    for version in found..known {
        let tx = conn.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        // Two programs may open a store at once; the second finds the work done.
        if number(&tx, "user_version")? != version {
            drop(tx);
            continue;
        }
        take(&tx, steps[version as usize])?;
        tx.pragma_update(None, "user_version", version + 1)?;
        tx.pragma_update(None, "application_id", APPLICATION_ID)?;
        tx.commit()?;
    }
    Ok(())
}

fn take(conn: &Connection, step: &'static str) -> rusqlite::Result<()> {
    if !step.contains("instance_day") {
        return conn.execute_batch(step);
    }
    let days: Vec<i64> =
        conn.prepare("select day from day order by day")?.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    days.into_iter().try_for_each(|day| conn.execute_batch(&on_day(step, day)))
}

/// How many of the steps a store has; 0 for what is no store.
pub(super) fn version(conn: &Connection) -> Result<i64, StoreError> {
    let ours = number(conn, "application_id")? == APPLICATION_ID;
    Ok(if ours { number(conn, "user_version")? } else { 0 })
}

fn number(conn: &Connection, pragma: &str) -> Result<i64, StoreError> {
    Ok(conn.pragma_query_value(None, pragma, |row| row.get(0))?)
}

/// Only reads. What holds tables and does not bear our mark belongs to somebody else, whatever version it says it has.
pub(super) fn is_strange(conn: &Connection) -> rusqlite::Result<bool> {
    // One statement sees one moment: a store that is just being made by someone else is not half seen.
    conn.query_row(
        "select exists (select 1 from sqlite_schema) and (select application_id from pragma_application_id) <> ?1",
        [APPLICATION_ID],
        |row| row.get(0),
    )
}

pub(super) fn strange() -> StoreError {
    StoreError::Failed("the file is a database of another program; name another data directory".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEPS: [&str; 3] =
        ["create table a (x integer)", "insert into a values (1)", "create table b as select x + 1 as y from a"];

    #[test]
    fn an_old_store_is_brought_up_step_by_step() {
        let mut conn = Connection::open_in_memory().unwrap();
        migrate(&mut conn, &STEPS[..1]).unwrap();
        migrate(&mut conn, &STEPS).unwrap();
        migrate(&mut conn, &STEPS).unwrap();
        assert_eq!(conn.query_row("select y from b", [], |row| row.get::<_, i64>(0)).unwrap(), 2);
        assert_eq!(number(&conn, "user_version").unwrap(), 3);
    }

    #[test]
    fn a_step_that_fails_leaves_the_version_before_it() {
        let mut conn = Connection::open_in_memory().unwrap();
        let broken = [STEPS[0], "create table c (x integer); insert into nowhere values (1)"];
        assert!(migrate(&mut conn, &broken).is_err());
        assert_eq!(number(&conn, "user_version").unwrap(), 1);
        assert!(conn.prepare("select * from c").is_err(), "half a step must not stay");
    }

    #[test]
    fn a_newer_store_is_refused() {
        let mut conn = Connection::open_in_memory().unwrap();
        migrate(&mut conn, &STEPS).unwrap();
        let refused = migrate(&mut conn, &STEPS[..2]).unwrap_err();
        assert!(matches!(refused, StoreError::Newer { found: 3, known: 2 }), "{refused}");
    }

    #[test]
    fn another_programs_database_is_left_alone() {
        let mut conn = Connection::open_in_memory().unwrap();
        conn.execute_batch("create table theirs (x)").unwrap();
        for version in [0, 1, 99] {
            conn.pragma_update(None, "user_version", version).unwrap();
            let refused = migrate(&mut conn, &STEPS).unwrap_err();
            assert!(refused.to_string().contains("another program"), "{refused}");
        }
    }
}
