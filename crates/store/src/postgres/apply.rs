//! Turns a stage into its statements, one for each kind of change and day. The guard is in the `where`: a row count
//! other than expected is a fault.

use engine::change::{Change, Commit, Ended, Progress, Retried, Row};
use model::{ShardId, State};

use super::column::{ints, maybe_ints, maybe_texts, texts};
use super::conn::{Call, Conn, Expects};
use super::day::{Days, on_day};
use super::error::Fault;
use super::sql;
use super::stage::{ByDay, Placed, Stage, stands_alone};
use crate::code::{self, Code};
use crate::roster::changes_roster;

/// Batches being written, each of another shard.
pub(super) struct Applying<'c> {
    pub(super) conn: &'c Conn,
    pub(super) commits: &'c [&'c Commit],
    pub(super) days: &'c mut Days,
    /// The highest of their marks; nothing from there on is listed as open long.
    pub(super) low_water: i64,
    pub(super) calls: Vec<Call<'c>>,
    stage: Stage<'c>,
}

impl<'c> Applying<'c> {
    pub(super) fn new(conn: &'c Conn, days: &'c mut Days, commits: &'c [&'c Commit], low_water: i64) -> Self {
        Applying { conn, commits, days, low_water, calls: Vec::new(), stage: Stage::default() }
    }

    /// The transaction and the shard rows; sent with what follows.
    pub(super) fn begin(&mut self) {
        let commits = self.commits;
        self.calls.push(Call::new("begin", vec![], Expects::Any));
        let expects = Expects::Ownership(commits.len());
        let call = match commits {
            [one] => {
                let values = [one.shard.0, one.term.0, one.batch.0, one.horizon.0, one.next_id];
                let values = values.into_iter().map(|value| Box::new(value) as _).collect();
                Call::new(sql::ADVANCE_SHARD, values, expects)
            }
            several => {
                let values = vec![
                    ints(several, |c| c.shard.0),
                    ints(several, |c| c.term.0),
                    ints(several, |c| c.batch.0),
                    ints(several, |c| c.horizon.0),
                    ints(several, |c| c.next_id),
                ];
                Call::new(sql::ADVANCE_SHARDS, values, expects)
            }
        };
        self.calls.push(call);
        if commits.iter().any(|commit| changes_roster(commit)) {
            let raise = "update meta set value = (value::int8 + 1)::text where key = 'revision'";
            self.calls.push(Call::new(raise, vec![], Expects::Any));
        }
        self.lock_lines();
    }

    /// All changes of all batches with as few statements as can be. Those of one batch stay in their order, so far as
    /// they see each other; those of two batches have none.
    pub(super) async fn apply_all(&mut self) -> Result<(), Fault> {
        let mut left: Vec<(&'c Commit, &'c [Change])> = self.commits.iter().map(|c| (*c, &c.changes[..])).collect();
        while !left.is_empty() {
            for (commit, changes) in &mut left {
                while let Some((change, rest)) = changes.split_first() {
                    self.check(commit, change)?;
                    if !self.stage.take(commit, change) {
                        break;
                    }
                    *changes = rest;
                }
            }
            left.retain(|(_, changes)| !changes.is_empty());
            if left.is_empty() {
                break;
            }
            self.close_stage();
            for (commit, changes) in &mut left {
                if let Some((change, rest)) = changes.split_first()
                    && stands_alone(change)
                {
                    self.alone(commit, change).await?;
                    *changes = rest;
                }
            }
        }
        Ok(())
    }

    /// One change by itself.
    pub(super) async fn apply(&mut self, commit: &'c Commit, change: &'c Change) -> Result<(), Fault> {
        self.check(commit, change)?;
        if !self.stage.take(commit, change) {
            self.alone(commit, change).await?;
        }
        self.flush().await
    }

    /// Sends what is gathered, and waits for it.
    pub(super) async fn flush(&mut self) -> Result<(), Fault> {
        self.close_stage();
        let calls = std::mem::take(&mut self.calls);
        self.conn.run(&calls).await
    }

    /// What can be told without asking the store.
    fn check(&self, commit: &Commit, change: &Change) -> Result<(), Fault> {
        let row = match change {
            Change::Created(c) if c.row.id.0 >= commit.next_id => {
                let next = commit.next_id;
                return Err(Fault::Impossible(format!("the batch says no id from {next} on is in use")));
            }
            _ => row_of(change),
        };
        match row {
            Some(row) if !self.days.is_known(row.planned.day()) => {
                Err(Fault::Impossible("nothing is planned on its day".into()))
            }
            _ => Ok(()),
        }
    }

    fn close_stage(&mut self) {
        let stage = std::mem::take(&mut self.stage);
        self.jobs(&stage.jobs);
        self.modes(&stage.modes);
        self.agents(&stage.agents);
        self.withdrawn(stage.withdrawn);
        self.created(&stage.created);
        self.placed(&stage.placed);
        self.progressed(&stage.progressed);
        self.retried(&stage.retried);
        for (day, rows) in &stage.stopping {
            let values = vec![
                ints(rows, |(row, ..)| row.id.0),
                texts(rows, |(_, by, _)| by.0.as_str()),
                ints(rows, |(.., at)| at.0),
            ];
            self.on_day(sql::STOP_INSTANCES, *day, values, Expects::Rows(rows.len(), "it is not open".into()));
        }
        self.ended(&stage.ended);
        self.counted(&stage.counted);
        self.gaps(&stage.gaps);
        self.notes(&stage.notes);
    }

    pub(super) fn on_day(
        &mut self,
        statement: &'static str,
        day: i64,
        values: Vec<super::conn::Value<'c>>,
        expects: Expects,
    ) {
        self.calls.push(Call::new(on_day(statement, day), values, expects));
    }

    fn withdrawn(&mut self, by_day: ByDay<Row>) {
        for (day, rows) in by_day {
            let expects = Expects::Rows(rows.len(), "it is not waiting for its time".into());
            self.on_day(sql::WITHDRAW_INSTANCES, day, vec![ints(&rows, |row| row.id.0)], expects);
            self.not_open_long(rows.into_iter());
        }
    }

    fn placed(&mut self, by_day: &ByDay<Placed<'c>>) {
        for (day, rows) in by_day {
            let values = vec![
                ints(rows, |p| p.row.id.0),
                ints(rows, |p| p.attempt.0),
                maybe_ints(rows, |p| p.target.map(|target| target.0)),
                maybe_texts(rows, |p| p.note),
            ];
            self.on_day(sql::PLACE_INSTANCES, *day, values, not_open(rows.len(), rows[0].attempt));
        }
    }

    fn progressed(&mut self, by_day: &ByDay<&'c Progress>) {
        for (day, rows) in by_day {
            let values = vec![
                ints(rows, |p| p.row.id.0),
                ints(rows, |p| p.attempt.0),
                ints(rows, |p| p.state.code()),
                maybe_ints(rows, |p| p.target.map(|target| target.0)),
                maybe_ints(rows, |p| p.ordered_at.map(|at| at.0)),
                maybe_ints(rows, |p| p.started_at.map(|at| at.0)),
                maybe_texts(rows, |p| p.why.as_deref()),
                maybe_ints(rows, |p| p.uncertain.as_ref().map(|u| u.since.0)),
                maybe_texts(rows, |p| p.uncertain.as_ref().map(|u| u.why.as_str())),
            ];
            self.on_day(sql::PROGRESS_INSTANCES, *day, values, not_open(rows.len(), rows[0].attempt));
        }
    }

    fn retried(&mut self, by_day: &ByDay<&'c Retried>) {
        for (day, rows) in by_day {
            let values = vec![
                ints(rows, |r| r.attempt.0),
                ints(rows, |r| r.row.id.0),
                ints(rows, |_| *day),
                ints(rows, |r| i64::from(r.attempt_no)),
                maybe_ints(rows, |r| r.target.map(|target| target.0)),
                maybe_ints(rows, |r| r.ordered_at.map(|at| at.0)),
                ints(rows, |r| r.outcome.verdict.code()),
                maybe_ints(rows, |r| r.outcome.exit_code.map(i64::from)),
                maybe_texts(rows, |r| r.outcome.message.as_deref()),
                maybe_texts(rows, |r| r.outcome.outputs.as_deref()),
                maybe_ints(rows, |r| r.outcome.started_at.map(|at| at.0)),
                ints(rows, |r| r.outcome.ended_at.0),
                maybe_ints(rows, |r| r.outcome.usage.cpu_us),
                maybe_ints(rows, |r| r.outcome.usage.peak_kb),
                maybe_ints(rows, |r| r.outcome.usage.log_bytes),
            ];
            self.calls.push(Call::new(sql::PUT_ATTEMPTS, values, Expects::Any));
            let later: Vec<_> = rows.iter().map(|r| (r.next, r.row)).collect();
            self.later_attempts(&later);
            let values = vec![
                ints(rows, |r| r.row.id.0),
                ints(rows, |r| r.attempt.0),
                ints(rows, |r| r.next.0),
                ints(rows, |r| i64::from(r.attempt_no) + 1),
                ints(rows, |r| r.retry_at.0),
                ints(rows, |r| i64::from(r.retries_used)),
            ];
            self.on_day(sql::RETRY_INSTANCES, *day, values, not_open(rows.len(), rows[0].attempt));
        }
    }

    fn ended(&mut self, by_day: &ByDay<&'c Ended>) {
        for (day, rows) in by_day {
            let values = vec![
                ints(rows, |e| e.row.id.0),
                ints(rows, |e| e.attempt.0),
                ints(rows, |e| code::ending(&e.ending).0),
                maybe_ints(rows, |e| code::ending(&e.ending).1),
                maybe_texts(rows, |e| code::ending(&e.ending).2),
                ints(rows, |e| e.at.0),
                maybe_ints(rows, |e| e.target.map(|target| target.0)),
                maybe_ints(rows, |e| e.ordered_at.map(|at| at.0)),
                maybe_texts(rows, |e| e.why.as_deref()),
                maybe_ints(rows, |e| e.outcome.as_ref().map(|o| o.verdict.code())),
                maybe_ints(rows, |e| e.outcome.as_ref().and_then(|o| o.exit_code).map(i64::from)),
                maybe_texts(rows, |e| e.outcome.as_ref().and_then(|o| o.message.as_deref())),
                maybe_texts(rows, |e| e.outcome.as_ref().and_then(|o| o.outputs.as_deref())),
                maybe_ints(rows, |e| e.outcome.as_ref().and_then(|o| o.started_at).map(|at| at.0)),
                maybe_ints(rows, |e| e.outcome.as_ref().and_then(|o| o.usage.cpu_us)),
                maybe_ints(rows, |e| e.outcome.as_ref().and_then(|o| o.usage.peak_kb)),
                maybe_ints(rows, |e| e.outcome.as_ref().and_then(|o| o.usage.log_bytes)),
            ];
            self.on_day(sql::END_INSTANCES, *day, values, not_open(rows.len(), rows[0].attempt));
            let unwell: Vec<i64> =
                rows.iter().filter(|e| e.ending.state() != State::Succeeded).map(|e| e.row.id.0).collect();
            if !unwell.is_empty() {
                self.on_day(sql::PUT_UNWELL, *day, vec![Box::new(unwell), Box::new(*day)], Expects::Any);
            }
            self.not_open_long(rows.iter().map(|e| e.row));
        }
    }

    pub(super) fn later_attempts(&mut self, attempts: &[(model::AttemptId, Row)]) {
        if attempts.is_empty() {
            return;
        }
        let values = vec![
            ints(attempts, |(attempt, _)| attempt.0),
            ints(attempts, |(_, row)| row.id.0),
            ints(attempts, |(_, row)| row.planned.day()),
        ];
        self.calls.push(Call::new(sql::PUT_LATER_ATTEMPTS, values, Expects::Any));
    }

    pub(super) fn open_long(&mut self, rows: &[(ShardId, Row)]) {
        if rows.is_empty() {
            return;
        }
        let values = vec![
            ints(rows, |(_, row)| row.id.0),
            ints(rows, |(_, row)| row.planned.day()),
            ints(rows, |(shard, _)| shard.0),
        ];
        self.calls.push(Call::new(sql::PUT_OPEN_LONG, values, Expects::Any));
    }

    fn not_open_long(&mut self, rows: impl Iterator<Item = Row>) {
        let old: Vec<i64> = rows.map(|row| row.id.0).filter(|id| *id < self.low_water).collect();
        if !old.is_empty() {
            let delete = "delete from open_long where id = any($1::int8[])";
            self.calls.push(Call::new(delete, vec![Box::new(old)], Expects::Any));
        }
    }
}

/// Where a change's instance is, if it is about one that must be there or is made.
pub(super) fn row_of(change: &Change) -> Option<Row> {
    match change {
        Change::Created(c) => Some(c.row),
        Change::Withdrawn { row }
        | Change::Placed { row, .. }
        | Change::Reopened { row, .. }
        | Change::Stopping { row, .. } => Some(*row),
        Change::Progress(p) => Some(p.row),
        Change::Retried(r) => Some(r.row),
        Change::Ended(e) => Some(e.row),
        Change::Gap(_)
        | Change::JobPut(_)
        | Change::JobMode { .. }
        | Change::JobRemoved { .. }
        | Change::JobCounted { .. }
        | Change::Quarantined { .. }
        | Change::Unquarantined { .. }
        | Change::AgentPut(_)
        | Change::AgentRemoved { .. }
        | Change::PoolPut(_)
        | Change::TenantPut(_)
        | Change::TenantRemoved { .. }
        | Change::GlobalLimit { .. }
        | Change::Orphan { .. }
        | Change::Note(_)
        | Change::Released { .. }
        | Change::Told { .. }
        | Change::Took { .. }
        | Change::Follower { .. }
        | Change::Drawn(_)
        | Change::Returned(_)
        | Change::ResourcePut { .. } => None,
    }
}

fn not_open(rows: usize, attempt: model::AttemptId) -> Expects {
    Expects::Rows(rows, format!("it is not open under attempt {attempt}"))
}
