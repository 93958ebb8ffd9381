//! Looks for signs of what executors have had for a while. What the signs say is decided in `evidence`.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use engine::{Input, Inspected, Scope};
use model::{AttemptId, Report, ReportKind, ShardId, Span, Verdict};
use wire::xxl::{JobQuestion, LogQuestion};

use super::ask::answer;
use super::connection::CallError;
use super::evidence::{Conclusion, Signs, conclude, is_java, says_no_log};
use super::line::Line;
use super::registry::executor;
use super::runs;
use super::switch::Executors;

/// Jobs an executor is asked about in one round: some answer one question at a time, and runs wait behind it.
const JOBS_MAX: usize = 32;

impl Executors {
    /// Results came: who said that it had nothing of these runs is known for it. A stranger's word is about nobody else.
    pub(super) fn told(&self, scope: &Scope, attempts: &[AttemptId]) {
        let (now, guard) = (self.0.clock.now(), Span::from(self.0.pace.guard));
        let speaks_for = |line: &Line| self.record(line.id).is_some_and(|record| scope.covers(&record));
        for line in self.lines().into_iter().filter(|line| !line.doubts_nothing() && speaks_for(line)) {
            attempts.iter().for_each(|attempt| line.told(*attempt, now, guard));
        }
    }

    pub(super) async fn inspect(&self, shard: ShardId, line: &Arc<Line>, open: Vec<Inspected>) {
        if !line.begin_inspection() {
            return;
        }
        line.retain_idle(&open.iter().map(|one| one.attempt).collect::<HashSet<AttemptId>>());
        for alias in self.whom_to_ask_about(line, &open) {
            let idle = self.is_idle(line, alias).await;
            if idle == Some(false) {
                self.mark(line.id, |executor| executor.tells_busy = true);
            }
            // What it says it has is not in doubt any more.
            for one in open.iter().filter(|one| one.alias == alias && one.taken && one.doubted && idle == Some(false)) {
                let kind = ReportKind::Started { at: one.started_at.unwrap_or(one.ordered_at) };
                self.tell(
                    shard,
                    Input::Report { agent: line.id, report: Report { attempt: one.attempt, seq: 1, kind } },
                );
            }
            for one in open.iter().filter(|one| one.alias == alias) {
                self.judge(shard, line, *one, idle).await;
            }
        }
        line.end_inspection();
    }

    /// What is in doubt first; of the rest, some in turn.
    fn whom_to_ask_about(&self, line: &Arc<Line>, open: &[Inspected]) -> Vec<i32> {
        let jobs = |wanted: fn(&Inspected) -> bool| -> BTreeSet<i32> {
            open.iter().filter(|one| wanted(one)).map(|one| one.alias).collect()
        };
        let (doubted, all) = (jobs(|one| one.doubted || !one.taken), jobs(|_| true));
        let last = line.asked_last();
        let in_turn = all.range(last + 1..).chain(all.range(..=last)).filter(|alias| !doubted.contains(alias));
        let chosen: Vec<i32> = doubted.iter().chain(in_turn).copied().take(JOBS_MAX).collect();
        if let Some(last) = chosen.iter().rev().find(|alias| !doubted.contains(alias)) {
            line.set_asked_last(*last);
        }
        chosen
    }

    async fn is_idle(&self, line: &Arc<Line>, alias: i32) -> Option<bool> {
        let called = line.ask("idleBeat", &JobQuestion { job_id: alias }.body()).await;
        if let Err(CallError::NotSent { refused, why }) = &called {
            self.set_aside(line, *refused, why);
        }
        let java = called.as_ref().is_ok_and(|response| is_java(&response.kind));
        let idle = answer(called).ok()?.is_success();
        if java {
            self.mark(line.id, |executor| (executor.tells_busy, executor.keeps_logs) = (true, true));
        }
        Some(idle)
    }

    async fn judge(&self, shard: ShardId, line: &Arc<Line>, one: Inspected, idle: Option<bool>) {
        if line.is_under_way(one.attempt) {
            return;
        }
        let known = self.record(line.id).map(|record| executor(&record)).unwrap_or_default();
        let has_log = match idle {
            Some(true) if !one.taken && known.keeps_logs => self.has_log(line, one).await,
            // One that runs shows whether there are logs at all.
            Some(false) if one.taken && !known.keeps_logs => self.has_log(line, one).await,
            Some(_) | None => None,
        };
        if has_log == Some(true) {
            self.mark(line.id, |executor| executor.keeps_logs = true);
        }
        let logless = has_log.map(|has| !has);
        let now = self.0.clock.now();
        let honest = known.tells_busy;
        let signs = Signs {
            now,
            ordered_at: one.ordered_at,
            taken_at: one.started_at,
            taken: one.taken,
            idle,
            honest,
            liar: line.is_liar(),
            logless,
            idle_since: line.idle_since(one.attempt, idle == Some(true), now),
            restart: line.restart(),
        };
        let (verdict, why) = match conclude(signs, Span::from(self.0.pace.guard)) {
            Conclusion::Wait => return,
            Conclusion::Doubt => {
                let why = "its executor says that it has nothing of the job, and was never heard to say otherwise";
                return self.tell(shard, Input::Unanswered { agent: line.id, attempt: one.attempt, why: why.into() });
            }
            Conclusion::NeverCame => (Verdict::Undelivered, "its executor never got it"),
            Conclusion::Gone => (Verdict::Lost, "its executor no longer has it and never said how it ended"),
            Conclusion::Restarted => (Verdict::Lost, "its executor was restarted and never said how it ended"),
        };
        tracing::warn!(executor = %line.address, attempt = %one.attempt, why, "a run ends by the signs");
        self.report(shard, line.id, one.attempt, verdict, why);
    }

    async fn has_log(&self, line: &Arc<Line>, one: Inspected) -> Option<bool> {
        let question = LogQuestion { log_id: one.attempt.0, log_date_time: runs::log_date(one.dated), from_line: 1 };
        let answer = answer(line.ask("log", &question.body()).await).ok()?;
        let page = answer.log_page()?;
        match says_no_log(&page.text) {
            true => Some(false),
            false => (page.to_line > 0).then_some(true),
        }
    }
}
