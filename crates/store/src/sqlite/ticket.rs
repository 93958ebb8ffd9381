//! Lines for mutexes and counted resources. Tickets are drawn and given back as the batch says; then each line it
//! touched lets through whom it can, in order, and other shards are told by messages of the same transaction.

use engine::change::{Draw, Grant, Message};
use engine::{LoadedTicket, TicketId};
use model::{InstanceId, JobId, ResourceKind, ResourceName, ShardId, Timestamp};
use rusqlite::{Connection, Row, params};

use super::apply::{Applying, expect};
use super::error::Fault;
use super::sql;
use crate::code::Code;
use crate::line::{lines_of, units_at_first};
use crate::read::{ResourceRecord, TicketRecord};

impl Applying<'_> {
    pub(super) fn drawn(&self, draw: &Draw) -> Result<(), Fault> {
        let mut known = self.conn.prepare_cached(
            "insert into resource (tenant, kind, name, units, allowed) values (?1, ?2, ?3, ?4, ?4) on conflict do nothing",
        )?;
        let mut put = self.conn.prepare_cached(
            "insert into ticket (tenant, kind, name, shard, instance, ticket, units, at, job)
             values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?;
        for need in &draw.needs {
            let (tenant, kind) = (draw.tenant.0, need.kind.code());
            known.execute(params![tenant, kind, need.name, units_at_first(&need.of(draw.tenant))])?;
            put.execute(params![
                tenant,
                kind,
                need.name,
                self.commit.shard.0,
                draw.instance.0,
                draw.ticket.0,
                need.units,
                draw.at.0,
                draw.job.0,
            ])?;
        }
        Ok(())
    }

    pub(super) fn returned(&self, draw: &Draw) -> Result<(), Fault> {
        let rows = self
            .conn
            .prepare_cached("delete from ticket where instance = ?1 and ticket = ?2 and shard = ?3")?
            .execute([draw.instance.0, draw.ticket.0, self.commit.shard.0])?;
        let all = rows == draw.needs.len();
        expect(usize::from(all), || format!("{rows} tickets of {}", draw.needs.len()))
    }

    pub(super) fn resource_put(&self, name: &ResourceName, units: u32) -> Result<(), Fault> {
        let values = params![name.tenant.0, name.kind.code(), name.name, units];
        self.conn.prepare_cached(sql::body(sql::PUT_RESOURCE))?.execute(values)?;
        Ok(())
    }

    /// Lets through whom the batch made room for.
    pub(super) fn grant(&self) -> Result<Vec<Grant>, Fault> {
        let mut granted = Vec::new();
        for line in lines_of(self.commit) {
            self.grant_in(&line, &mut granted)?;
        }
        for grant in granted.iter().filter(|grant| grant.shard != self.commit.shard) {
            let Grant { shard, instance, ticket, kind, name } = grant.clone();
            self.told(shard, &Message::Granted { instance, ticket, kind, name })?;
        }
        Ok(granted)
    }

    fn grant_in(&self, line: &ResourceName, granted: &mut Vec<Grant>) -> Result<(), Fault> {
        let values = params![line.tenant.0, line.kind.code(), line.name];
        let (units, held): (i64, i64) = self
            .conn
            .prepare_cached(sql::body(sql::LINE_HELD))?
            .query_row(values, |row| Ok((row.get(0)?, row.get(1)?)))?;
        let mut free = units - held;
        let mut next = self.conn.prepare_cached(
            "select number, shard, instance, ticket, units from ticket
             where tenant = ?1 and kind = ?2 and name = ?3 and held = 0 order by number",
        )?;
        let mut through = Vec::new();
        let mut rows = next.query(params![line.tenant.0, line.kind.code(), line.name])?;
        while free > 0
            && let Some(row) = rows.next()?
        {
            let wanted: i64 = row.get(4)?;
            if wanted > free {
                break;
            }
            free -= wanted;
            through.push(row.get::<_, i64>(0)?);
            granted.push(Grant {
                shard: ShardId(row.get(1)?),
                instance: InstanceId(row.get(2)?),
                ticket: TicketId(row.get(3)?),
                kind: line.kind,
                name: line.name.clone(),
            });
        }
        drop(rows);
        let mut hold = self.conn.prepare_cached("update ticket set held = 1 where number = ?1")?;
        through.into_iter().try_for_each(|number| hold.execute([number]).map(drop))?;
        Ok(())
    }
}

pub(super) fn of_shard(conn: &Connection, shard: ShardId) -> rusqlite::Result<Vec<LoadedTicket>> {
    let mut select = conn.prepare_cached("select instance, ticket, kind, name, held from ticket where shard = ?1")?;
    let read = |row: &Row<'_>| {
        Ok(LoadedTicket {
            instance: InstanceId(row.get(0)?),
            ticket: TicketId(row.get(1)?),
            kind: kind(row.get(2)?),
            name: row.get(3)?,
            held: row.get(4)?,
        })
    };
    select.query_map([shard.0], read)?.collect()
}

pub(super) fn resource(row: &Row<'_>) -> rusqlite::Result<ResourceRecord> {
    let count = |at: usize| Ok::<_, rusqlite::Error>(row.get::<_, i64>(at)?.max(0).unsigned_abs());
    Ok(ResourceRecord { name: name(row)?, units: row.get(3)?, allowed: count(4)?, held: count(5)?, waiting: count(6)? })
}

pub(super) fn ticket(row: &Row<'_>) -> rusqlite::Result<TicketRecord> {
    Ok(TicketRecord {
        of: name(row)?,
        shard: ShardId(row.get(3)?),
        instance: InstanceId(row.get(4)?),
        units: row.get(5)?,
        held: row.get(6)?,
        at: Timestamp(row.get(7)?),
        job: JobId(row.get(8)?),
    })
}

/// `tenant, kind, name`
fn name(row: &Row<'_>) -> rusqlite::Result<ResourceName> {
    Ok(ResourceName { tenant: model::TenantId(row.get(0)?), kind: kind(row.get(1)?), name: row.get(2)? })
}

/// The schema keeps other numbers out.
fn kind(code: i64) -> ResourceKind {
    ResourceKind::decode(code).unwrap_or(ResourceKind::Counted)
}
