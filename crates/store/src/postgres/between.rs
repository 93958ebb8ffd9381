//! What shards tell one another, and the lines for what they share. The lines a batch has to do with are locked in the
//! order of their names right after the shard rows, before anything another shard may wait for.

use std::collections::BTreeSet;

use engine::change::{Change, Commit, Draw, Ends, Grant, Message, MessageId};
use engine::{LoadedTicket, TicketId};
use model::{InstanceId, JobId, ResourceKind, ResourceName, ShardId, TenantId, Timestamp};
use tokio_postgres::Row;

use super::apply::Applying;
use super::column::{ints, owned_texts, text};
use super::conn::{Call, Conn, Expects, Value};
use super::error::Fault;
use super::sql;
use crate::code::Code;
use crate::line::{lines_of, units_at_first};
use crate::message;
use crate::read::{Letter, ResourceRecord, TicketRecord};

impl<'c> Applying<'c> {
    /// Others wait until we are done with these lines.
    pub(super) fn lock_lines(&mut self) {
        let lines = lines_of_all(self.commits);
        if lines.is_empty() {
            return;
        }
        let mut values = names(&lines);
        values.push(ints(&lines, |line| i64::from(units_at_first(line))));
        self.calls.push(Call::new(sql::KNOW_RESOURCES, values, Expects::Any));
        self.calls.push(Call::new(sql::LOCK_RESOURCES, names(&lines), Expects::Any));
    }

    /// What is told, drawn or given back, each by itself.
    pub(super) fn between(&mut self, commit: &'c Commit, change: &'c Change) {
        match change {
            Change::Told { to, message } => {
                let values: Vec<Value<'c>> =
                    vec![Box::new(to.0), Box::new(commit.shard.0), Box::new(message::encode(message))];
                let put = "insert into outbox (to_shard, from_shard, body) values ($1, $2, $3)";
                self.calls.push(Call::new(put, values, Expects::Any));
            }
            Change::Took { id } => {
                let values: Vec<Value<'c>> = vec![Box::new(id.0), Box::new(commit.shard.0)];
                let expects = Expects::Rows(1, "nobody told us, or it was taken already".into());
                self.calls.push(Call::new("delete from outbox where id = $1 and to_shard = $2", values, expects));
            }
            Change::Follower { job, follower, ends } => self.follower(commit.shard, *job, *follower, *ends),
            Change::Drawn(draw) => self.drawn(commit.shard, draw),
            Change::Returned(draw) => {
                let values: Vec<Value<'c>> =
                    vec![Box::new(draw.instance.0), Box::new(draw.ticket.0), Box::new(commit.shard.0)];
                let delete = "delete from ticket where instance = $1 and ticket = $2 and shard = $3";
                let expects = Expects::Rows(draw.needs.len(), "its tickets are not there".into());
                self.calls.push(Call::new(delete, values, expects));
            }
            Change::ResourcePut { name, units } => {
                let mut values = name_of(name);
                values.push(Box::new(i64::from(*units)));
                self.calls.push(Call::new(sql::PUT_RESOURCE, values, Expects::Rows(1, "it is not locked".into())));
            }
            _ => unreachable!("only what is between shards comes here"),
        }
    }

    fn follower(&mut self, shard: ShardId, job: JobId, follower: JobId, ends: Option<Ends>) {
        let mut values: Vec<Value<'c>> = vec![Box::new(job.0), Box::new(follower.0)];
        let Some(ends) = ends else {
            let delete = "delete from follower where job = $1 and follower = $2";
            return self.calls.push(Call::new(delete, values, Expects::Any));
        };
        values.push(Box::new(shard.0));
        values.push(Box::new(i64::from(ends.0)));
        let put = "insert into follower (job, follower, shard, ends) values ($1, $2, $3, $4)
                   on conflict (job, follower) do update set ends = excluded.ends";
        self.calls.push(Call::new(put, values, Expects::Any));
    }

    fn drawn(&mut self, shard: ShardId, draw: &'c Draw) {
        let values: Vec<Value<'c>> = vec![
            Box::new(draw.tenant.0),
            ints(&draw.needs, |need| need.kind.code()),
            Box::new(draw.needs.iter().map(|need| text(&need.name)).collect::<Vec<_>>()),
            ints(&draw.needs, |need| i64::from(need.units)),
            Box::new(shard.0),
            Box::new(draw.instance.0),
            Box::new(draw.ticket.0),
            Box::new(draw.at.0),
            Box::new(draw.job.0),
        ];
        self.calls.push(Call::new(sql::DRAW_TICKETS, values, Expects::Any));
    }
}

/// Lets through whom the batches made room for, in lines that are locked. A batch that has to do with a line is answered
/// what became its own; everybody else is told by the same transaction.
pub(super) async fn grant(conn: &Conn, commits: &[&Commit]) -> Result<Vec<Vec<Grant>>, Fault> {
    let mut answers: Vec<Vec<Grant>> = commits.iter().map(|_| Vec::new()).collect();
    let lines = lines_of_all(commits);
    if lines.is_empty() {
        return Ok(answers);
    }
    let values = names(&lines);
    let values: Vec<_> = values.iter().map(|value| &**value as _).collect();
    let mut rows = conn.query(sql::GRANT_TICKETS, &values).await?;
    rows.sort_by_key(|row| (row.get::<_, i64>(4), row.get::<_, String>(5), row.get::<_, i64>(0)));
    let in_lines: Vec<bool> = commits.iter().map(|commit| !lines_of(commit).is_empty()).collect();
    let giver = in_lines.iter().position(|has| *has).unwrap_or(0);
    let mut strangers = Vec::new();
    for row in &rows {
        let grant = Grant {
            shard: ShardId(row.get(1)),
            instance: InstanceId(row.get(2)),
            ticket: TicketId(row.get(3)),
            kind: kind(row.get(4)),
            name: row.get(5),
        };
        let own = commits.iter().zip(&in_lines).position(|(commit, has)| *has && commit.shard == grant.shard);
        if own.is_none() {
            strangers.push(grant.clone());
        }
        answers[own.unwrap_or(giver)].push(grant);
    }
    if !strangers.is_empty() {
        let told = |grant: &Grant| {
            let Grant { instance, ticket, kind, name, .. } = grant.clone();
            message::encode(&Message::Granted { instance, ticket, kind, name })
        };
        let values: [Value<'_>; 3] =
            [Box::new(commits[giver].shard.0), ints(&strangers, |grant| grant.shard.0), owned_texts(&strangers, told)];
        let values: Vec<_> = values.iter().map(|value| &**value as _).collect();
        conn.execute(sql::TELL_GRANTED, &values).await?;
    }
    Ok(answers)
}

fn lines_of_all(commits: &[&Commit]) -> Vec<ResourceName> {
    let lines: BTreeSet<ResourceName> = commits.iter().flat_map(|commit| lines_of(commit)).collect();
    lines.into_iter().collect()
}

pub(super) async fn load(conn: &Conn, shard: ShardId) -> Result<(Vec<(JobId, JobId, Ends)>, Vec<LoadedTicket>), Fault> {
    let rows = conn.query("select job, follower, ends from follower where shard = $1", &[&shard.0]).await?;
    let ends = |row: &Row| Ends(u8::try_from(row.get::<_, i64>(2)).unwrap_or(u8::MAX));
    let followers = rows.iter().map(|row| (JobId(row.get(0)), JobId(row.get(1)), ends(row))).collect();
    let text = "select instance, ticket, kind, name, held from ticket where shard = $1";
    let tickets = conn.query(text, &[&shard.0]).await?;
    let ticket = |row: &Row| LoadedTicket {
        instance: InstanceId(row.get(0)),
        ticket: TicketId(row.get(1)),
        kind: kind(row.get(2)),
        name: row.get(3),
        held: row.get(4),
    };
    Ok((followers, tickets.iter().map(ticket).collect()))
}

pub(super) async fn outbox(conn: &Conn, shards: &[ShardId], limit: usize) -> Result<Vec<Letter>, Fault> {
    let shards: Vec<i64> = shards.iter().map(|shard| shard.0).collect();
    let text = "select id, to_shard, from_shard, body from outbox where to_shard = any($1::int8[])
                order by id limit $2";
    let rows = conn.query(text, &[&shards, &(limit as i64)]).await?;
    let letter = |row: &Row| {
        let (id, to, from) = (MessageId(row.get(0)), ShardId(row.get(1)), ShardId(row.get(2)));
        Some(Letter { id, to, from, message: message::decode(row.get(3))? })
    };
    Ok(rows.iter().filter_map(letter).collect())
}

pub(super) fn resource(row: &Row) -> ResourceRecord {
    let count = |at: usize| row.get::<_, i64>(at).max(0).unsigned_abs();
    ResourceRecord {
        name: name(row),
        units: u32::try_from(count(3)).unwrap_or(u32::MAX),
        allowed: count(4),
        held: count(5),
        waiting: count(6),
    }
}

pub(super) fn ticket(row: &Row) -> TicketRecord {
    TicketRecord {
        of: name(row),
        shard: ShardId(row.get(3)),
        instance: InstanceId(row.get(4)),
        units: u32::try_from(row.get::<_, i64>(5)).unwrap_or(u32::MAX),
        held: row.get(6),
        at: Timestamp(row.get(7)),
        job: JobId(row.get(8)),
    }
}

/// `tenant, kind, name`
fn name(row: &Row) -> ResourceName {
    ResourceName { tenant: TenantId(row.get(0)), kind: kind(row.get(1)), name: row.get(2) }
}

/// The schema keeps other numbers out.
fn kind(code: i64) -> ResourceKind {
    ResourceKind::decode(code).unwrap_or(ResourceKind::Counted)
}

fn names<'v>(lines: &[ResourceName]) -> Vec<Value<'v>> {
    vec![
        ints(lines, |line| line.tenant.0),
        ints(lines, |line| line.kind.code()),
        owned_texts(lines, |line| text(&line.name).into_owned()),
    ]
}

fn name_of<'v>(line: &'v ResourceName) -> Vec<Value<'v>> {
    vec![Box::new(line.tenant.0), Box::new(line.kind.code()), Box::new(text(&line.name))]
}
