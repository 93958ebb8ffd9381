//! Brings a store's schema up to what this program knows, step by step, each in transactions of its own, one program at a
//! time. Never goes back. Everything is in a schema of our own: what else is in the database is left alone.

use super::conn::Conn;
use super::error::Fault;
use crate::StoreError;

/// The schema's versions; a store's `schema_version` says how many of them it has.
pub(super) const STEPS: &[&str] = &[
    include_str!("migrations/0001_begin.sql"),
    include_str!("migrations/0002_shards.sql"),
    include_str!("migrations/0003_between.sql"),
    include_str!("migrations/0004_tenants.sql"),
    include_str!("migrations/0005_audit.sql"),
    include_str!("migrations/0006_people.sql"),
    include_str!("migrations/0007_labels.sql"),
    include_str!("migrations/0008_values.sql"),
    include_str!("migrations/0009_shared_agents.sql"),
    include_str!("migrations/0010_tenants_servers.sql"),
];

/// Between the parts of a step: the locks that one has taken are given back before the next begins. Whoever is cut short
/// between them begins with the first again, so all but the last bear being taken twice.
const APART: &str = "-- apart";

/// "Duly": held while a step is taken.
const LOCK: i64 = 0x4475_6c79;

/// The oldest PostgreSQL we are tested with.
const OLDEST: i32 = 140_000;

pub(super) async fn migrate(conn: &Conn, steps: &[&str]) -> Result<(), Fault> {
    check_server(conn).await?;
    let known = steps.len() as i64;
    loop {
        let found = version(conn).await?;
        if found > known {
            return Err(StoreError::Newer { found, known }.into());
        }
        if found == known {
            return Ok(());
        }
        let taken = take(conn, steps, found).await;
        if taken.is_err() {
            // A connection that cannot even do this is dropped, and the server ends the transaction.
            let _ = conn.batch("rollback").await;
        }
        taken?;
    }
}

async fn check_server(conn: &Conn) -> Result<(), Fault> {
    let text = "select current_setting('server_version_num')::int4, current_setting('server_version'),
                current_setting('server_encoding')";
    let Some(row) = conn.first(text, &[]).await? else { return Ok(()) };
    let (number, version, encoding): (i32, String, String) = (row.get(0), row.get(1), row.get(2));
    if number < OLDEST {
        return Err(StoreError::Failed(format!("PostgreSQL 14 or newer is needed, this is {version}")).into());
    }
    if encoding != "UTF8" {
        let what = format!("the database keeps its texts as {encoding}; make one with createdb --encoding=UTF8");
        return Err(StoreError::Failed(what).into());
    }
    Ok(())
}

/// The step after `found`, unless another program takes it first.
async fn take(conn: &Conn, steps: &[&str], found: i64) -> Result<(), Fault> {
    let Some(step) = usize::try_from(found).ok().and_then(|found| steps.get(found)) else { return Ok(()) };
    let mut parts = step.split(APART).peekable();
    while let Some(part) = parts.next() {
        // A table that is read while it is changed may be waited for longer than a commit would wait.
        conn.batch("begin; set local lock_timeout = '60s'; set local statement_timeout = 0").await?;
        conn.batch(&format!("select pg_advisory_xact_lock({LOCK})")).await?;
        if version(conn).await? != found {
            return conn.batch("rollback").await;
        }
        if found == 0 && conn.first("select 1 where to_regnamespace('duly') is null", &[]).await?.is_some() {
            conn.batch("create schema duly").await?;
        }
        conn.batch(part).await?;
        if parts.peek().is_none() {
            let put = "insert into meta (key, value) values ('schema_version', $1)
                       on conflict (key) do update set value = excluded.value";
            conn.execute(put, &[&(found + 1).to_string()]).await?;
        }
        conn.batch("commit").await?;
    }
    Ok(())
}

/// How many of the steps the store has. What is in our schema without our mark belongs to somebody else.
async fn version(conn: &Conn) -> Result<i64, Fault> {
    let tables =
        "select 1 from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = 'duly' limit 1";
    if conn.first(tables, &[]).await?.is_none() {
        return Ok(0);
    }
    let strange = || {
        StoreError::Failed(
            "the schema duly of this database belongs to another program; name another database for the store".into(),
        )
    };
    // A meta of another shape is another's; a database that goes away just now is nobody's mistake.
    let unless_lost = |fault: Fault| if matches!(fault, Fault::Lost(_)) { fault } else { strange().into() };
    let ours = "select 1 from pg_class where oid = to_regclass('duly.meta') and relkind = 'r'";
    if conn.first(ours, &[]).await?.is_none() {
        return Err(strange().into());
    }
    let marks =
        conn.query("select key::text, value::text from meta where key in ('application', 'schema_version')", &[]);
    let marks: Vec<(String, Option<String>)> =
        marks.await.map_err(unless_lost)?.iter().map(|row| (row.get(0), row.get(1))).collect();
    let mark = |wanted: &str| marks.iter().find(|(key, _)| key == wanted).and_then(|(_, value)| value.as_deref());
    match (mark("application"), mark("schema_version").and_then(|version| version.parse().ok())) {
        (Some("duly"), Some(version)) => Ok(version),
        _ => Err(strange().into()),
    }
}
