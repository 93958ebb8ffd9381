//! The audit, on a connection of its own. Whoever adds entries holds the head's row until they are there, so that the
//! servers of a cluster make one chain.

use model::audit::{Mark, Sum};
use model::{TenantId, Timestamp};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::conn::{Call, Conn, Expects, Value};
use super::error::Fault;
use super::lane::Lane;
use super::open::WRITER;
use super::{PATIENCE, PgStore};
use crate::StoreError;
use crate::audit::{AuditFilter, AuditLog, Begun, Bound, Label, Recorded, Writing, links, subjects, sum};

pub struct PgAudit {
    lane: Lane,
    /// The first entry of a write whose outcome is not known: its place, and what it says.
    in_doubt: Option<(Mark, Sum)>,
}

impl PgStore {
    /// A further connection for the audit. It outlives this writer.
    pub fn audit(&self) -> Result<PgAudit, StoreError> {
        Ok(PgAudit { lane: Lane::new(self.lane.door().clone(), WRITER)?, in_doubt: None })
    }
}

const ENTRY: &str = "select a.seq, a.hash, a.at, a.tenant, a.actor, a.operation, a.outcome, a.entry from audit a";
const HEAD: &str = "select base_seq, base_hash, seq, hash from audit_head where id = 1";

impl PgAudit {
    fn all(&mut self, text: &str, values: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, StoreError> {
        Ok(self.lane.again(PATIENCE, async |conn: &Conn| conn.query(text, values).await)?)
    }

    /// Whether the entries that were sent last got there, although nobody said so.
    fn is_there(&mut self, writing: &Writing) -> Result<bool, StoreError> {
        let Some((mark, digest)) = self.in_doubt else { return Ok(false) };
        let rows = self.all("select hash from audit where seq = $1", &[&mark.seq])?;
        let there = rows.first().is_some_and(|row| row.get::<_, &[u8]>(0) == mark.hash.0);
        let same = writing.entries.first().is_some_and(|entry| Sum::of(&entry.text) == digest);
        self.in_doubt = None;
        Ok(there && same)
    }
}

impl AuditLog for PgAudit {
    fn write(&mut self, writing: &Writing) -> Result<(), StoreError> {
        let writing = match self.is_there(writing)? {
            true => &Writing { entries: Vec::new(), drop_until: None, ..writing.clone() },
            false => writing,
        };
        // A connection that died meanwhile is replaced before anything depends on it.
        self.lane.again(PATIENCE, async |conn: &Conn| conn.first("select 1", &[]).await)?;
        let mut committing = None;
        let written = self.lane.once(PATIENCE, async |conn: &Conn| {
            let done = write_all(conn, writing).await;
            match done {
                Ok(first) => {
                    committing = first;
                    Ok(conn.commit().await?)
                }
                Err(fault) => {
                    // A connection that cannot even do this is dropped, and the server ends the transaction.
                    let _ = conn.batch("rollback").await;
                    Err(fault)
                }
            }
        });
        if written.is_err() {
            self.in_doubt = committing;
        }
        Ok(written?)
    }

    fn ends(&mut self) -> Result<(Mark, Mark), StoreError> {
        self.all(HEAD, &[])?.first().map_or(Ok((Mark::BEGINNING, Mark::BEGINNING)), ends)
    }

    fn after(&mut self, seq: i64, limit: usize) -> Result<Vec<Recorded>, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows = self.all(&format!("{ENTRY} where a.seq > $1 order by a.seq limit $2"), &[&seq, &limit])?;
        rows.iter().map(recorded).collect()
    }

    fn list(&mut self, filter: &AuditFilter) -> Result<Vec<Recorded>, StoreError> {
        let (conditions, bound) = filter.conditions('$');
        let values: Vec<&(dyn ToSql + Sync)> = bound.iter().map(Bound::value).collect();
        let text = format!("{ENTRY} where {conditions} order by a.seq desc limit {}", filter.limit);
        self.all(&text, &values)?.iter().map(recorded).collect()
    }

    fn begun(&mut self, before: Timestamp, limit: usize) -> Result<Vec<Begun>, StoreError> {
        let text = "select id, at, entry from audit_begun where at < $1 order by at, id limit $2";
        let rows = self.all(text, &[&before.0, &(limit as i64)])?;
        let read = |row: &Row| Begun { id: row.get(0), at: Timestamp(row.get(1)), text: row.get(2) };
        Ok(rows.iter().map(read).collect())
    }

    fn older_than(&mut self, moment: Timestamp) -> Result<Option<Mark>, StoreError> {
        let text = "select seq, hash from audit
                    where seq > (select base_seq from audit_head) and seq < (select seq from audit_head)
                      and seq < coalesce((select min(seq) from audit where at >= $1), 9223372036854775807)
                    order by seq desc limit 1";
        let rows = self.all(text, &[&moment.0])?;
        rows.first().map(|row| Ok(Mark { seq: row.get(0), hash: sum(row.get(1))? })).transpose()
    }

    fn sweep(&mut self, rows_max: u32) -> Result<bool, StoreError> {
        let text = "with dropped as (
                        select seq from audit where seq <= (select base_seq from audit_head) order by seq limit $1
                    ), about as (
                        delete from audit_about where seq in (select seq from dropped)
                    )
                    delete from audit where seq in (select seq from dropped)";
        let most = i64::from(rows_max);
        let rows = self.lane.again(PATIENCE, async |conn: &Conn| conn.execute(text, &[&most]).await)?;
        Ok(rows == u64::from(rows_max))
    }
}

/// Everything but the commit. Gives back where the first entry will stand.
async fn write_all(conn: &Conn, writing: &Writing) -> Result<Option<(Mark, Sum)>, Fault> {
    conn.batch("begin").await?;
    let mut calls = begun(writing);
    let mut first = None;
    if !writing.entries.is_empty() {
        let make = "insert into audit_head (id, seq, hash, base_seq, base_hash) values (1, 0, $1, 0, $1) on conflict do nothing";
        let nothing = Mark::BEGINNING.hash.0;
        conn.execute(make, &[&&nothing[..]]).await?;
        let row = conn.first(&format!("{HEAD} for update"), &[]).await?;
        let gone = || StoreError::Corrupt("the head of the audit is gone".into());
        let (_, head) = ends(&row.ok_or_else(gone)?)?;
        let marks = links(head, &writing.entries);
        first = Some((marks[0], Sum::of(&writing.entries[0].text)));
        calls.extend(entries(writing, &marks));
    }
    conn.run(&calls).await?;
    Ok(first)
}

fn begun(writing: &Writing) -> Vec<Call<'_>> {
    let mut calls = Vec::new();
    if !writing.begun.is_empty() {
        let text = "insert into audit_begun (id, at, entry)
                    select * from unnest($1::text[], $2::int8[], $3::text[]) on conflict do nothing";
        let column = |of: fn(&Begun) -> &str| writing.begun.iter().map(of).collect::<Vec<_>>();
        let times: Vec<i64> = writing.begun.iter().map(|one| one.at.0).collect();
        let (ids, texts) = (column(|one| &one.id), column(|one| &one.text));
        calls.push(Call::new(text, vec![Box::new(ids), Box::new(times), Box::new(texts)], Expects::Any));
    }
    if !writing.settled.is_empty() {
        let text = "delete from audit_begun where id = any($1::text[])";
        calls.push(Call::new(text, vec![Box::new(&writing.settled)], Expects::Any));
    }
    calls
}

fn entries<'w>(writing: &'w Writing, marks: &[Mark]) -> Vec<Call<'w>> {
    let entries = &writing.entries;
    let put = "insert into audit (seq, at, tenant, actor, operation, outcome, entry, hash)
               select * from unnest($1::int8[], $2::int8[], $3::int8[], $4::text[], $5::text[], $6::text[], $7::text[],
                                    $8::bytea[])";
    let numbers: Vec<i64> = marks.iter().map(|mark| mark.seq).collect();
    let times: Vec<i64> = entries.iter().map(|entry| entry.label.at.0).collect();
    let tenants: Vec<Option<i64>> = entries.iter().map(|entry| entry.label.tenant.map(|tenant| tenant.0)).collect();
    let actors: Vec<Option<&str>> = entries.iter().map(|entry| entry.label.actor.as_deref()).collect();
    let operations: Vec<&str> = entries.iter().map(|entry| entry.label.operation.as_str()).collect();
    let outcomes: Vec<&str> = entries.iter().map(|entry| entry.label.outcome.as_str()).collect();
    let texts: Vec<&str> = entries.iter().map(|entry| entry.text.as_str()).collect();
    let hashes: Vec<Vec<u8>> = marks.iter().map(|mark| mark.hash.0.to_vec()).collect();
    let columns: Vec<Value<'w>> = vec![
        Box::new(numbers),
        Box::new(times),
        Box::new(tenants),
        Box::new(actors),
        Box::new(operations),
        Box::new(outcomes),
        Box::new(texts),
        Box::new(hashes),
    ];
    let mut calls = vec![Call::new(put, columns, Expects::Any)];
    let about =
        marks.iter().zip(entries).flat_map(|(mark, entry)| subjects(entry).into_iter().map(|one| (one, mark.seq)));
    let (values, of): (Vec<&str>, Vec<i64>) = about.unzip();
    if !values.is_empty() {
        let text = "insert into audit_about (value, seq) select * from unnest($1::text[], $2::int8[])";
        calls.push(Call::new(text, vec![Box::new(values), Box::new(of)], Expects::Any));
    }
    let last = *marks.last().expect("there are entries");
    let moved = "update audit_head set seq = $1, hash = $2 where id = 1";
    calls.push(Call::new(moved, vec![Box::new(last.seq), Box::new(last.hash.0.to_vec())], Expects::Any));
    if let Some(base) = writing.drop_until {
        let text = "update audit_head set base_seq = $1, base_hash = $2 where id = 1 and base_seq < $1";
        calls.push(Call::new(text, vec![Box::new(base.seq), Box::new(base.hash.0.to_vec())], Expects::Any));
    }
    calls
}

fn ends(row: &Row) -> Result<(Mark, Mark), StoreError> {
    Ok((Mark { seq: row.get(0), hash: sum(row.get(1))? }, Mark { seq: row.get(2), hash: sum(row.get(3))? }))
}

fn recorded(row: &Row) -> Result<Recorded, StoreError> {
    Ok(Recorded {
        mark: Mark { seq: row.get(0), hash: sum(row.get(1))? },
        label: Label {
            at: Timestamp(row.get(2)),
            tenant: row.get::<_, Option<i64>>(3).map(TenantId),
            actor: row.get(4),
            operation: row.get(5),
            outcome: row.get(6),
        },
        text: row.get(7),
    })
}

impl Bound {
    fn value(&self) -> &(dyn ToSql + Sync) {
        match self {
            Bound::Number(number) => number,
            Bound::Text(text) => text,
        }
    }
}
