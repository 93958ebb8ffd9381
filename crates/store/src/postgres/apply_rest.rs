//! The changes that are not about one instance: jobs, gaps, agents, pools, and what people are told; and those that must
//! look before they write.

use engine::change::{Change, ClaimName, Commit, Gap, Note, Row};
use model::{
    Actor, AgentId, AgentRecord, AttemptId, Failure, JobId, JobRecord, ReportKind, ShardId, State, TenantId, Timestamp,
};

use super::apply::Applying;
use super::column::{count, ints, maybe_ints, owned_texts, text, texts};
use super::conn::{Call, Expects};
use super::day::on_day;
use super::error::Fault;
use super::row::{maybe_small, small};
use super::stage::{ModeOf, Of};
use super::{list, sql};
use crate::code::{self, Code};
use crate::json;
use crate::settled::verdict_of;

impl<'c> Applying<'c> {
    pub(super) fn jobs(&mut self, jobs: &[Of<'c, JobRecord>]) {
        if jobs.is_empty() {
            return;
        }
        let values = vec![ints(jobs, |(_, j)| j.id.0), texts(jobs, |(_, j)| j.name.as_str())];
        self.calls.push(Call::new(sql::RELEASE_OLD_NAMES, values, Expects::Any));
        let values = vec![
            ints(jobs, |(commit, _)| commit.shard.0),
            ints(jobs, |(_, j)| j.id.0),
            ints(jobs, |(_, j)| j.tenant.0),
            texts(jobs, |(_, j)| j.name.as_str()),
            ints(jobs, |(_, j)| j.version.0),
            ints(jobs, |(_, j)| j.rule.0),
            ints(jobs, |(_, j)| j.task.0),
            ints(jobs, |(_, j)| j.source.0),
            texts(jobs, |(_, j)| j.folder.as_str()),
            ints(jobs, |(_, j)| j.mode.code()),
            ints(jobs, |(_, j)| j.since.0),
            ints(jobs, |(_, j)| count(j.fired)),
            texts(jobs, |(_, j)| j.changed_by.as_str()),
            ints(jobs, |(_, j)| i64::from(j.alias)),
            owned_texts(jobs, |(_, j)| json::labels(&j.labels)),
        ];
        let expects =
            Expects::Rows(jobs.len(), "its number belongs to a removed job, another tenant or another shard".into());
        self.calls.push(Call::new(sql::PUT_JOBS, values, expects));
        let version = || {
            vec![
                ints(jobs, |(_, j)| j.version.0),
                ints(jobs, |(_, j)| j.id.0),
                ints(jobs, |(_, j)| j.rule.0),
                ints(jobs, |(_, j)| j.task.0),
                ints(jobs, |(_, j)| j.source.0),
            ]
        };
        let mut values = version();
        values.push(ints(jobs, |(_, j)| j.since.0));
        values.push(texts(jobs, |(_, j)| j.changed_by.as_str()));
        let expects = Expects::Rows(1, "some of its contents are not there".into());
        self.calls.push(Call::new(sql::PUT_VERSIONS, values, expects));
        let expects = Expects::Rows(jobs.len(), format!("version {} says something else", jobs[0].1.version));
        self.calls.push(Call::new(sql::SAME_VERSIONS, version(), expects));
        let intervals: Vec<_> = jobs.iter().map(|(_, j)| (j.id, j.since)).collect();
        self.close_intervals(&intervals);
        self.put_intervals(&intervals);
    }

    pub(super) fn modes(&mut self, modes: &[ModeOf<'c>]) {
        if modes.is_empty() {
            return;
        }
        let values = vec![
            ints(modes, |m| m.job.0),
            ints(modes, |m| m.mode.code()),
            ints(modes, |m| m.since.0),
            ints(modes, |m| count(m.fired)),
            texts(modes, |m| m.by.0.as_str()),
        ];
        self.calls.push(Call::new(sql::MODE_JOBS, values, no_such_job(modes.len())));
        let intervals: Vec<_> = modes.iter().map(|m| (m.job, m.since)).collect();
        self.close_intervals(&intervals);
        self.put_intervals(&intervals);
    }

    fn close_intervals(&mut self, jobs: &[(JobId, Timestamp)]) {
        let values = vec![ints(jobs, |(job, _)| job.0), ints(jobs, |(_, until)| until.0)];
        self.calls.push(Call::new(sql::CLOSE_INTERVALS, values, Expects::Any));
    }

    /// Begins the next interval with what the job is now.
    fn put_intervals(&mut self, jobs: &[(JobId, Timestamp)]) {
        self.calls.push(Call::new(sql::PUT_INTERVALS, vec![ints(jobs, |(job, _)| job.0)], Expects::Any));
    }

    pub(super) fn agents(&mut self, agents: &[&'c AgentRecord]) {
        if agents.is_empty() {
            return;
        }
        let values = vec![
            ints(agents, |a| a.id.0),
            ints(agents, |a| a.tenant.0),
            texts(agents, |a| a.name.as_str()),
            owned_texts(agents, |a| json::list(&a.pools)),
            owned_texts(agents, |a| json::map(&a.labels)),
            ints(agents, |a| i64::from(a.slots)),
            Box::new(agents.iter().map(|a| a.drained).collect::<Vec<bool>>()) as _,
            ints(agents, |a| a.joined_at.0),
            maybe_ints(agents, |a| a.seen_at.map(|at| at.0)),
            texts(agents, |a| a.version.as_str()),
            maybe_ints(agents, |a| code::of_agent_kind(a.kind).0),
            maybe_ints(agents, |a| code::of_agent_kind(a.kind).1.map(i64::from)),
            Box::new(agents.iter().map(|a| json::serves(&a.serves)).collect::<Vec<Option<String>>>()) as _,
        ];
        self.calls.push(Call::new(sql::PUT_AGENTS, values, Expects::Any));
    }

    pub(super) fn counted(&mut self, jobs: &[(JobId, u64)]) {
        if !jobs.is_empty() {
            let values = vec![ints(jobs, |(job, _)| job.0), ints(jobs, |(_, fired)| count(*fired))];
            self.calls.push(Call::new(sql::COUNT_JOBS, values, no_such_job(jobs.len())));
        }
    }

    pub(super) fn gaps(&mut self, gaps: &[Of<'c, Gap>]) {
        if gaps.is_empty() {
            return;
        }
        let values = vec![
            ints(gaps, |(commit, _)| commit.shard.0),
            ints(gaps, |(_, g)| g.job.0),
            ints(gaps, |(_, g)| g.tenant.0),
            ints(gaps, |(_, g)| g.first.0),
            ints(gaps, |(_, g)| g.last.0),
            ints(gaps, |(_, g)| count(g.count)),
            ints(gaps, |(_, g)| code::fate(g.fate).0),
            maybe_ints(gaps, |(_, g)| code::fate(g.fate).1),
            maybe_ints(gaps, |(_, g)| code::fate(g.fate).2),
            texts(gaps, |(_, g)| g.why.as_str()),
        ];
        self.calls.push(Call::new(sql::PUT_GAPS, values, Expects::Any));
    }

    pub(super) fn notes(&mut self, notes: &[Of<'c, Note>]) {
        if notes.is_empty() {
            return;
        }
        let values = vec![
            ints(notes, |(commit, _)| commit.shard.0),
            ints(notes, |(_, n)| n.at.0),
            maybe_ints(notes, |(_, n)| n.job.map(|job| job.0)),
            maybe_ints(notes, |(_, n)| n.instance.map(|instance| instance.0)),
            ints(notes, |(_, n)| code::note(&n.kind).0),
            maybe_ints(notes, |(_, n)| code::note(&n.kind).1),
        ];
        self.calls.push(Call::new(sql::PUT_NOTES, values, Expects::Any));
    }

    /// The rare ones, each by itself.
    pub(super) async fn alone(&mut self, commit: &'c Commit, change: &'c Change) -> Result<(), Fault> {
        match change {
            Change::JobRemoved { job, tenant, at, by } => self.job_removed(*job, *tenant, *at, by),
            Change::Quarantined { job, input, error, at, decided } => self.push(
                "insert into quarantine (shard, job, input, error, at, decided) values ($1, $2, $3, $4, $5, $6)",
                vec![
                    Box::new(commit.shard.0),
                    Box::new(job.map(|job| job.0)),
                    Box::new(text(input)),
                    Box::new(text(error)),
                    Box::new(at.0),
                    Box::new(decided.0),
                ],
                Expects::Any,
            ),
            Change::Unquarantined { job, by } => self.push(
                "update quarantine set held = false, looked_by = $2 where job = $1 and held",
                vec![Box::new(job.0), Box::new(text(&by.0))],
                Expects::Any,
            ),
            Change::AgentRemoved { agent } => self.push(
                "delete from agent where id = $1",
                vec![Box::new(agent.0)],
                Expects::Rows(1, "there is no such agent".into()),
            ),
            Change::PoolPut(pool) => self.push(
                sql::PUT_POOL,
                vec![
                    Box::new(pool.tenant.0),
                    Box::new(text(&pool.name)),
                    Box::new(pool.limit.map(i64::from)),
                    Box::new(json::list(&pool.addresses)),
                ],
                Expects::Any,
            ),
            Change::TenantPut(tenant) => self.tenant_put(tenant),
            Change::TenantRemoved { tenant } => self.tenant_removed(*tenant),
            Change::GlobalLimit { limit } => self.push(
                "insert into meta (key, value) values ('global_limit', $1)
                 on conflict (key) do update set value = excluded.value",
                vec![Box::new(limit.map(|limit| limit.to_string()))],
                Expects::Any,
            ),
            Change::Released { claim } => self.released(claim),
            Change::Orphan { agent, attempt, kind, at } => return self.orphan(*agent, *attempt, kind, *at).await,
            Change::Reopened { row, attempt, attempt_no, by, at } => {
                let next = (*attempt, *attempt_no);
                return self.reopened(commit.shard, *row, next, by, *at).await;
            }
            Change::Told { .. }
            | Change::Took { .. }
            | Change::Follower { .. }
            | Change::Drawn(_)
            | Change::Returned(_)
            | Change::ResourcePut { .. } => self.between(commit, change),
            Change::Created(_)
            | Change::Withdrawn { .. }
            | Change::Placed { .. }
            | Change::Progress(_)
            | Change::Retried(_)
            | Change::Ended(_)
            | Change::Stopping { .. }
            | Change::Gap(_)
            | Change::JobPut(_)
            | Change::JobMode { .. }
            | Change::JobCounted { .. }
            | Change::AgentPut(_)
            | Change::Note(_) => unreachable!("an empty stage takes it"),
        }
        Ok(())
    }

    pub(super) fn push(&mut self, statement: &'static str, values: Vec<super::conn::Value<'c>>, expects: Expects) {
        self.calls.push(Call::new(statement, values, expects));
    }

    fn job_removed(&mut self, job: JobId, tenant: TenantId, at: Timestamp, by: &'c Actor) {
        let values: Vec<super::conn::Value<'c>> =
            vec![Box::new(job.0), Box::new(at.0), Box::new(text(&by.0)), Box::new(tenant.0)];
        self.push(sql::REMOVE_JOB, values, no_such_job(1));
        self.push("delete from follower where job = $1", vec![Box::new(job.0)], Expects::Any);
        self.close_intervals(&[(job, at)]);
    }

    fn released(&mut self, claim: &'c ClaimName) {
        let (kind, tenant, name) = code::claim(claim);
        let delete = "delete from claim where kind = $1::int8 and tenant = $2 and name = $3";
        self.push(delete, vec![Box::new(kind), Box::new(tenant), Box::new(text(name))], Expects::Any);
    }

    /// Kept only if nobody has ever heard of the attempt.
    async fn orphan(
        &mut self,
        agent: AgentId,
        attempt: AttemptId,
        kind: &ReportKind,
        at: Timestamp,
    ) -> Result<(), Fault> {
        self.flush().await?;
        if list::instance_of(self.conn, attempt).await?.is_some() {
            return Ok(());
        }
        let (kind, what) = code::orphan(kind);
        let put = "insert into orphan (attempt, agent, kind, at, what) values ($1, $2, $3::int8, $4, $5)
                   on conflict do nothing";
        self.conn.execute(put, &[&attempt.0, &agent.0, &kind, &at.0, &text(&what)]).await?;
        Ok(())
    }

    async fn reopened(
        &mut self,
        shard: ShardId,
        row: Row,
        (next, no): (AttemptId, u32),
        by: &'c Actor,
        at: Timestamp,
    ) -> Result<(), Fault> {
        self.flush().await?;
        let day = row.planned.day();
        let not_ended = || Fault::Impossible("it has not ended".into());
        let last = self.conn.first(&on_day(sql::LAST_ATTEMPT, day), &[&row.id.0]).await?.ok_or_else(not_ended)?;
        let state = small(&last, 0);
        let failure = maybe_small(&last, 1).and_then(Failure::decode);
        let derived = State::decode(state).map(|state| verdict_of(state, failure).code());
        let verdict = maybe_small(&last, 2).or(derived).ok_or_else(not_ended)?;
        self.push(
            "delete from unwell where state = $1::int8 and planned = $2 and id = $3",
            vec![Box::new(state), Box::new(row.planned.0), Box::new(row.id.0)],
            Expects::Any,
        );
        let moved: Vec<super::conn::Value<'c>> =
            vec![Box::new(row.id.0), Box::new(day), Box::new(verdict), Box::new(text(&by.0)), Box::new(at.0)];
        self.calls.push(Call::new(on_day(sql::MOVE_ATTEMPT, day), moved, Expects::Rows(1, "it has not ended".into())));
        self.later_attempts(&[(next, row)]);
        let values: Vec<super::conn::Value<'c>> = vec![Box::new(row.id.0), Box::new(next.0), Box::new(i64::from(no))];
        let expects = Expects::Rows(1, "it has not ended".into());
        self.calls.push(Call::new(on_day(sql::REOPEN_INSTANCE, day), values, expects));
        // The statement looks at the mark itself, which may be newer than what we remember of it.
        self.open_long(&[(shard, row)]);
        Ok(())
    }
}

fn no_such_job(jobs: usize) -> Expects {
    Expects::Rows(jobs, "there is no such job".into())
}
