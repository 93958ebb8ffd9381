//! The audit, on a connection of its own that takes turns with the writer.

use model::audit::Mark;
use model::{TenantId, Timestamp};
use rusqlite::types::ToSqlOutput;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, ToSql, params};

use super::commit::begin;
use super::open::connect;
use super::{Gate, Options, SqliteStore};
use crate::StoreError;
use crate::audit::{AuditFilter, AuditLog, Begun, Bound, Draft, Label, Recorded, Writing, links, subjects, sum};

pub struct SqliteAudit {
    conn: Connection,
    gate: Gate,
}

impl SqliteStore {
    /// A further connection for the audit. It outlives this writer.
    pub fn audit(&self) -> Result<SqliteAudit, StoreError> {
        let options = Options { cache_mb: 1, ..self.options.clone() };
        let conn = connect(&self.path, &options, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        Ok(SqliteAudit { conn, gate: self.gate.clone() })
    }
}

const ENTRY: &str = "select a.seq, a.hash, a.at, a.tenant, a.actor, a.operation, a.outcome, a.entry from audit a";

impl SqliteAudit {
    fn write_all(&self, writing: &Writing) -> Result<(), StoreError> {
        let mut put =
            self.conn.prepare_cached("insert or ignore into audit_begun (id, at, entry) values (?1, ?2, ?3)")?;
        for one in &writing.begun {
            put.execute(params![one.id, one.at.0, one.text])?;
        }
        let mut settle = self.conn.prepare_cached("delete from audit_begun where id = ?1")?;
        for id in &writing.settled {
            settle.execute([id])?;
        }
        if writing.entries.is_empty() {
            return Ok(());
        }
        let (_, head) = self.read_ends()?;
        let marks = links(head, &writing.entries);
        for (mark, entry) in marks.iter().zip(&writing.entries) {
            self.put(*mark, entry)?;
        }
        let last = marks.last().expect("there are entries");
        self.conn
            .prepare_cached(
                "insert into audit_head (id, seq, hash, base_seq, base_hash) values (1, ?1, ?2, 0, zeroblob(32))
                 on conflict (id) do update set seq = excluded.seq, hash = excluded.hash",
            )?
            .execute(params![last.seq, last.hash.0])?;
        if let Some(base) = writing.drop_until {
            let text = "update audit_head set base_seq = ?1, base_hash = ?2 where id = 1 and base_seq < ?1";
            self.conn.prepare_cached(text)?.execute(params![base.seq, base.hash.0])?;
        }
        Ok(())
    }

    fn put(&self, mark: Mark, entry: &Draft) -> Result<(), StoreError> {
        let Label { at, tenant, actor, operation, outcome } = &entry.label;
        let tenant = tenant.map(|tenant| tenant.0);
        self.conn
            .prepare_cached(
                "insert into audit (seq, at, tenant, actor, operation, outcome, entry, hash)
                 values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            )?
            .execute(params![mark.seq, at.0, tenant, actor, operation, outcome, entry.text, mark.hash.0])?;
        let mut about = self.conn.prepare_cached("insert into audit_about (value, seq) values (?1, ?2)")?;
        for value in subjects(entry) {
            about.execute(params![value, mark.seq])?;
        }
        Ok(())
    }

    fn read_ends(&self) -> Result<(Mark, Mark), StoreError> {
        let text = "select base_seq, base_hash, seq, hash from audit_head where id = 1";
        let read = |row: &Row| Ok((row.get(0)?, row.get::<_, Vec<u8>>(1)?, row.get(2)?, row.get::<_, Vec<u8>>(3)?));
        let found = self.conn.prepare_cached(text)?.query_row([], read).optional()?;
        let Some((base, base_hash, seq, hash)) = found else { return Ok((Mark::BEGINNING, Mark::BEGINNING)) };
        Ok((Mark { seq: base, hash: sum(&base_hash)? }, Mark { seq, hash: sum(&hash)? }))
    }

    fn read(&self, text: &str, values: &[&dyn ToSql]) -> Result<Vec<Recorded>, StoreError> {
        let mut select = self.conn.prepare_cached(text)?;
        let mut rows = select.query(values)?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push(recorded(row)?);
        }
        Ok(found)
    }
}

impl AuditLog for SqliteAudit {
    fn write(&mut self, writing: &Writing) -> Result<(), StoreError> {
        let gate = self.gate.clone();
        let _turn = gate.lock();
        begin(&self.conn)?;
        let written = self.write_all(writing).and_then(|()| Ok(self.conn.execute_batch("commit")?));
        if written.is_err() && !self.conn.is_autocommit() {
            self.conn.execute_batch("rollback")?;
        }
        written
    }

    fn ends(&mut self) -> Result<(Mark, Mark), StoreError> {
        self.read_ends()
    }

    fn after(&mut self, seq: i64, limit: usize) -> Result<Vec<Recorded>, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.read(&format!("{ENTRY} where a.seq > ?1 order by a.seq limit ?2"), &[&seq, &limit])
    }

    fn list(&mut self, filter: &AuditFilter) -> Result<Vec<Recorded>, StoreError> {
        let (conditions, bound) = filter.conditions('?');
        let values: Vec<&dyn ToSql> = bound.iter().map(|value| value as &dyn ToSql).collect();
        self.read(&format!("{ENTRY} where {conditions} order by a.seq desc limit {}", filter.limit), &values)
    }

    fn begun(&mut self, before: Timestamp, limit: usize) -> Result<Vec<Begun>, StoreError> {
        let text = "select id, at, entry from audit_begun where at < ?1 order by at, id limit ?2";
        let read = |row: &Row| Ok(Begun { id: row.get(0)?, at: Timestamp(row.get(1)?), text: row.get(2)? });
        let mut select = self.conn.prepare_cached(text)?;
        Ok(select.query_map([before.0, limit as i64], read)?.collect::<Result<_, _>>()?)
    }

    fn older_than(&mut self, moment: Timestamp) -> Result<Option<Mark>, StoreError> {
        let text = "select seq, hash from audit
                    where seq > (select base_seq from audit_head) and seq < (select seq from audit_head)
                      and seq < coalesce((select min(seq) from audit where at >= ?1), 9223372036854775807)
                    order by seq desc limit 1";
        let read = |row: &Row| Ok((row.get(0)?, row.get::<_, Vec<u8>>(1)?));
        let found = self.conn.prepare_cached(text)?.query_row([moment.0], read).optional()?;
        found.map(|(seq, hash)| Ok(Mark { seq, hash: sum(&hash)? })).transpose()
    }

    fn sweep(&mut self, rows_max: u32) -> Result<bool, StoreError> {
        let _turn = self.gate.lock();
        let dropped = "select seq from audit where seq <= (select base_seq from audit_head) order by seq limit ?1";
        // What entries are about goes first: a row that is left over would be about nothing.
        let about = format!("delete from audit_about where seq in ({dropped})");
        self.conn.prepare_cached(&about)?.execute([rows_max])?;
        let rows =
            self.conn.prepare_cached(&format!("delete from audit where seq in ({dropped})"))?.execute([rows_max])?;
        Ok(rows == rows_max as usize)
    }
}

fn recorded(row: &Row) -> Result<Recorded, StoreError> {
    Ok(Recorded {
        mark: Mark { seq: row.get(0)?, hash: sum(&row.get::<_, Vec<u8>>(1)?)? },
        label: Label {
            at: Timestamp(row.get(2)?),
            tenant: row.get::<_, Option<i64>>(3)?.map(TenantId),
            actor: row.get(4)?,
            operation: row.get(5)?,
            outcome: row.get(6)?,
        },
        text: row.get(7)?,
    })
}

impl ToSql for Bound {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match self {
            Bound::Number(number) => number.to_sql(),
            Bound::Text(text) => text.to_sql(),
        }
    }
}
