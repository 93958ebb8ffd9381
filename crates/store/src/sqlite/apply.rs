//! Turns each change into its statements. The guard is in the `where`: a row count other than expected is a fault.

use engine::change::{Change, Commit, Created, Ended, Progress, Retried, Row};
use model::{Actor, AttemptId, Failure, State, Timestamp};
use rusqlite::{CachedStatement, Connection, OptionalExtension, params};

use super::day::{Days, on_day};
use super::error::Fault;
use super::sql;
use crate::code::{self, Code};
use crate::settled::verdict_of;

/// A batch being written.
pub(super) struct Applying<'c> {
    pub(super) conn: &'c Connection,
    pub(super) commit: &'c Commit,
    days: &'c mut Days,
    low_water: i64,
    hot: Vec<Hot<'c>>,
}

/// The two statements of a plain run, held for as long as the batch.
struct Hot<'c> {
    day: i64,
    create: Option<CachedStatement<'c>>,
    end: Option<CachedStatement<'c>>,
}

impl<'c> Applying<'c> {
    pub(super) fn new(conn: &'c Connection, days: &'c mut Days, commit: &'c Commit, low_water: i64) -> Self {
        Applying { conn, commit, days, low_water, hot: Vec::new() }
    }

    pub(super) fn apply(&mut self, change: &Change) -> Result<(), Fault> {
        match change {
            Change::Created(created) => self.created(created),
            Change::Ended(ended) => self.ended(ended),
            Change::Progress(progress) => self.progressed(progress),
            Change::Placed { row, attempt, target, note } => {
                let params = params![row.id.0, attempt.0, target.map(|t| t.0), note];
                self.on_row(*row, sql::PLACE_INSTANCE, params, || not_open(*attempt))
            }
            Change::Withdrawn { row } => self.withdrawn(*row),
            Change::Retried(retried) => self.retried(retried),
            Change::Reopened { row, attempt, attempt_no, by, at } => {
                self.reopened(*row, *attempt, *attempt_no, by, *at)
            }
            Change::Stopping { row, by, at } => {
                self.on_row(*row, sql::STOP_INSTANCE, params![row.id.0, by.0, at.0], || "it is not open".into())
            }
            Change::Gap(gap) => self.gap(gap),
            Change::JobPut(job) => self.job_put(job),
            Change::JobMode { job, mode, since, fired, by } => self.job_mode(*job, *mode, *since, *fired, by),
            Change::JobRemoved { job, tenant, at, by } => self.job_removed(*job, *tenant, *at, by),
            Change::JobCounted { job, fired } => self.job_counted(*job, *fired),
            Change::Quarantined { job, input, error, at, decided } => {
                self.quarantined(*job, input, error, *at, *decided)
            }
            Change::Unquarantined { job, by } => self.unquarantined(*job, by),
            Change::AgentPut(agent) => self.agent_put(agent),
            Change::AgentRemoved { agent } => self.agent_removed(*agent),
            Change::PoolPut(pool) => self.pool_put(pool),
            Change::TenantPut(tenant) => self.tenant_put(tenant),
            Change::TenantRemoved { tenant } => self.tenant_removed(*tenant),
            Change::GlobalLimit { limit } => self.global_limit(*limit),
            Change::Orphan { agent, attempt, kind, at } => self.orphan(*agent, *attempt, kind, *at),
            Change::Note(note) => self.note(note),
            Change::Released { claim } => self.released(claim),
            Change::Told { to, message } => self.told(*to, message),
            Change::Took { id } => self.took(*id),
            Change::Follower { job, follower, ends } => self.follower(*job, *follower, *ends),
            Change::Drawn(draw) => self.drawn(draw),
            Change::Returned(draw) => self.returned(draw),
            Change::ResourcePut { name, units } => self.resource_put(name, *units),
        }
    }

    fn created(&mut self, c: &Created) -> Result<(), Fault> {
        if c.row.id.0 >= self.commit.next_id {
            return Err(Fault::Impossible(format!("the batch says no id from {} on is in use", self.commit.next_id)));
        }
        let day = c.row.planned.day();
        let at = self.hot(day);
        if self.hot[at].create.is_none() {
            let known = self.days.make(self.conn, day)?;
            self.hot[at].create = Some(self.conn.prepare_cached(&known.create)?);
        }
        let (cause, cause_ref, cause_by) = code::cause(&c.cause);
        let insert = self.hot[at].create.as_mut().expect("it was prepared just now");
        insert.execute(params![
            c.row.id.0,
            self.commit.shard.0,
            c.tenant.0,
            c.row.job.0,
            c.version.0,
            c.row.planned.0,
            c.part.number,
            c.part.total,
            c.parent.map(|p| p.0),
            cause,
            cause_ref,
            cause_by,
            c.params.map(|p| p.0),
            c.state.code(),
            c.attempt.0,
            c.target.map(|t| t.0),
            c.at.0,
        ])?;
        self.days.cover(self.conn, c.row.id.0, c.row.planned)?;
        if c.row.id.0 < self.low_water {
            self.open_long(c.row)?;
        }
        if c.attempt.0 != c.row.id.0 {
            self.later_attempt(c.attempt, c.row)?;
        }
        self.keep_for(c, day)
    }

    /// What an instance refers to is kept as long as the instance, even if its job goes on to something else.
    fn keep_for(&mut self, c: &Created, day: i64) -> Result<(), Fault> {
        if let Some(params) = c.params {
            let rows = self
                .conn
                .prepare_cached("update content set kept_day = max(coalesce(kept_day, ?2), ?2) where id = ?1")?
                .execute([params.0, day])?;
            expect(rows, || format!("there is no content {params}"))?;
        }
        if day > self.commit.horizon.day() + 1 {
            self.conn
                .prepare_cached("update job_version set kept_day = max(coalesce(kept_day, ?2), ?2) where id = ?1")?
                .execute([c.version.0, day])?;
        }
        Ok(())
    }

    fn ended(&mut self, e: &Ended) -> Result<(), Fault> {
        let at = self.hot(e.row.planned.day());
        if self.hot[at].end.is_none() {
            let Some(known) = self.days.find(self.conn, e.row.planned.day())? else {
                return Err(Fault::Impossible("nothing is planned on its day".into()));
            };
            self.hot[at].end = Some(self.conn.prepare_cached(&known.end)?);
        }
        let (state, reason, by) = code::ending(&e.ending);
        let outcome = e.outcome.as_deref();
        let update = self.hot[at].end.as_mut().expect("it was prepared just now");
        let rows = update.execute(params![
            e.row.id.0,
            e.attempt.0,
            state,
            reason,
            by,
            e.at.0,
            e.target.map(|t| t.0),
            e.ordered_at.map(|t| t.0),
            e.why,
            outcome.map(|o| o.verdict.code()),
            outcome.and_then(|o| o.exit_code),
            outcome.and_then(|o| o.message.as_deref()),
            outcome.and_then(|o| o.outputs.as_deref()),
            outcome.and_then(|o| o.started_at).map(|t| t.0),
            outcome.and_then(|o| o.usage.cpu_us),
            outcome.and_then(|o| o.usage.peak_kb),
            outcome.and_then(|o| o.usage.log_bytes),
        ])?;
        expect(rows, || not_open(e.attempt))?;
        if e.ending.state() != State::Succeeded {
            self.conn.prepare_cached(&on_day(sql::PUT_UNWELL, e.row.planned.day()))?.execute([e.row.id.0])?;
        }
        self.not_open_long(e.row)
    }

    fn progressed(&mut self, p: &Progress) -> Result<(), Fault> {
        let values = params![
            p.row.id.0,
            p.attempt.0,
            p.state.code(),
            p.target.map(|t| t.0),
            p.ordered_at.map(|t| t.0),
            p.started_at.map(|t| t.0),
            p.why,
            p.uncertain.as_ref().map(|u| u.since.0),
            p.uncertain.as_ref().map(|u| u.why.as_str()),
        ];
        self.on_row(p.row, sql::PROGRESS_INSTANCE, values, || not_open(p.attempt))
    }

    fn withdrawn(&mut self, row: Row) -> Result<(), Fault> {
        self.on_row(row, sql::WITHDRAW_INSTANCE, params![row.id.0], || "it is not waiting for its time".into())?;
        self.not_open_long(row)
    }

    fn retried(&mut self, r: &Retried) -> Result<(), Fault> {
        let o = &r.outcome;
        self.conn.prepare_cached(sql::body(sql::PUT_ATTEMPT))?.execute(params![
            r.attempt.0,
            r.row.id.0,
            r.row.planned.day(),
            r.attempt_no,
            r.target.map(|t| t.0),
            r.ordered_at.map(|t| t.0),
            o.verdict.code(),
            o.exit_code,
            o.message,
            o.outputs,
            o.started_at.map(|t| t.0),
            o.ended_at.0,
            o.usage.cpu_us,
            o.usage.peak_kb,
            o.usage.log_bytes,
            None::<&str>,
            None::<i64>,
        ])?;
        self.later_attempt(r.next, r.row)?;
        let values =
            params![r.row.id.0, r.attempt.0, r.next.0, r.attempt_no.saturating_add(1), r.retry_at.0, r.retries_used];
        self.on_row(r.row, sql::RETRY_INSTANCE, values, || not_open(r.attempt))
    }

    fn reopened(&mut self, row: Row, next: AttemptId, no: u32, by: &Actor, at: Timestamp) -> Result<(), Fault> {
        if self.days.find(self.conn, row.planned.day())?.is_none() {
            return Err(Fault::Impossible("nothing is planned on its day".into()));
        }
        let last = self
            .conn
            .prepare_cached(&on_day(sql::LAST_ATTEMPT, row.planned.day()))?
            .query_row([row.id.0], |found| {
                let state: i64 = found.get(0)?;
                let failure = found.get::<_, Option<i64>>(1)?.and_then(Failure::decode);
                let derived = State::decode(state).map(|state| verdict_of(state, failure).code());
                Ok((state, found.get::<_, Option<i64>>(2)?.or(derived)))
            })
            .optional()?;
        let Some((state, Some(verdict))) = last else { return Err(Fault::Impossible("it has not ended".into())) };
        self.conn.prepare_cached("delete from unwell where state = ?1 and planned = ?2 and id = ?3")?.execute([
            state,
            row.planned.0,
            row.id.0,
        ])?;
        self.conn.prepare_cached(&on_day(sql::MOVE_ATTEMPT, row.planned.day()))?.execute(params![
            row.id.0,
            row.planned.day(),
            verdict,
            by.0,
            at.0
        ])?;
        self.later_attempt(next, row)?;
        let values = params![row.id.0, next.0, no];
        self.on_row(row, sql::REOPEN_INSTANCE, values, || "it has not ended".into())?;
        // Asked of the store, since the mark may be newer than what we remember of it.
        let low: i64 = self
            .conn
            .prepare_cached("select low_water from shard where id = ?1")?
            .query_row([self.commit.shard.0], |found| found.get(0))?;
        if row.id.0 < low { self.open_long(row) } else { Ok(()) }
    }

    /// Runs one of the rarer statements on the row's day; exactly one row must answer.
    fn on_row(
        &mut self,
        row: Row,
        statement: &'static str,
        values: &[&dyn rusqlite::ToSql],
        otherwise: impl Fn() -> String,
    ) -> Result<(), Fault> {
        let day = row.planned.day();
        if self.days.find(self.conn, day)?.is_none() {
            return Err(Fault::Impossible("nothing is planned on its day".into()));
        }
        let rows = self.conn.prepare_cached(&on_day(statement, day))?.execute(values)?;
        expect(rows, otherwise)
    }

    fn later_attempt(&self, attempt: AttemptId, row: Row) -> Result<(), Fault> {
        self.conn.prepare_cached("insert into later_attempt (id, instance, day) values (?1, ?2, ?3)")?.execute([
            attempt.0,
            row.id.0,
            row.planned.day(),
        ])?;
        Ok(())
    }

    fn open_long(&self, row: Row) -> Result<(), Fault> {
        self.conn.prepare_cached("insert or ignore into open_long (id, day, shard) values (?1, ?2, ?3)")?.execute([
            row.id.0,
            row.planned.day(),
            self.commit.shard.0,
        ])?;
        Ok(())
    }

    fn not_open_long(&self, row: Row) -> Result<(), Fault> {
        if row.id.0 < self.low_water {
            self.conn.prepare_cached("delete from open_long where id = ?1")?.execute([row.id.0])?;
        }
        Ok(())
    }

    fn hot(&mut self, day: i64) -> usize {
        if let Some(at) = self.hot.iter().position(|hot| hot.day == day) {
            return at;
        }
        self.hot.push(Hot { day, create: None, end: None });
        self.hot.len() - 1
    }
}

pub(super) fn expect(rows: usize, otherwise: impl Fn() -> String) -> Result<(), Fault> {
    if rows == 1 { Ok(()) } else { Err(Fault::Impossible(otherwise())) }
}

fn not_open(attempt: AttemptId) -> String {
    format!("it is not open under attempt {attempt}")
}
