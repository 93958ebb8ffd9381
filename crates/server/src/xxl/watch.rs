//! Calling executors: runs sent once, questions asked, runs ended, signs looked for. What an answer means is decided in
//! `runs` and `evidence`; what follows from it, by the shard.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

use engine::{Ask, Input, Inspected, Order, Question};
use model::{AgentId, AttemptId, Report, ReportKind, Span, Verdict, VersionId};
use wire::task::{TaskBody, TaskKind};
use wire::xxl::{Answer, JobQuestion, LogQuestion};

use super::connection::{CallError, Connection};
use super::evidence::{Conclusion, Signs, conclude, is_java, says_no_log};
use super::http::Response;
use super::line::Line;
use super::registry::executor;
use super::runs::{self, Fate, STILL_BUSY, TAKEN_WITHIN, fate, is_still_busy};
use super::switch::{Executors, Ready};
use crate::shard::Stop;

/// Between two tries to reach an executor again.
const PROBES: [Duration; 5] = [
    Duration::from_millis(200),
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(3),
    Duration::from_secs(5),
];

impl Executors {
    // ---- runs

    pub(super) fn send(&self, line: &Arc<Line>, orders: Vec<Order>) {
        if !self.is_there(line.id) {
            // Not from here: whoever releases orders must never wait for whoever takes reports.
            let (this, id) = (self.clone(), line.id);
            return self.spawn(async move { this.undelivered(id, orders, "its executor cannot be reached") });
        }
        for _ in 0..line.push(orders) {
            let (this, line) = (self.clone(), Arc::clone(line));
            self.spawn(async move { this.work(&line).await });
        }
    }

    /// Sends what is in line over one connection, as long as there is something.
    async fn work(&self, line: &Arc<Line>) {
        let mut kept = None;
        while let Some(order) = line.next().await {
            self.run(line, &mut kept, &order).await;
            line.answered(order.attempt);
        }
    }

    async fn run(&self, line: &Arc<Line>, kept: &mut Option<Connection>, order: &Order) {
        let attempt = order.attempt;
        if self.0.clock.now() > order.start_by {
            return self.report(line.id, attempt, Verdict::Undelivered, "it waited too long for its executor");
        }
        let body = match self.body(order).await {
            Ok(body) => body,
            Err(error) => {
                tracing::error!(%attempt, %error, "what to run cannot be read; the order is refused");
                let why = format!("what to run cannot be read: {error}");
                return self.report(line.id, attempt, Verdict::Refused, why);
            }
        };
        let mut became = self.call_run(line, kept, &body).await;
        for wait in STILL_BUSY {
            if !is_still_busy(&became, order.overlap) {
                break;
            }
            tokio::time::sleep(wait).await;
            became = self.call_run(line, kept, &body).await;
        }
        match became {
            Fate::Taken => {
                let kind = ReportKind::Started { at: self.0.clock.now() };
                self.tell(Input::Report { agent: line.id, report: Report { attempt, seq: 1, kind } });
            }
            Fate::Over(verdict, text) => self.report(line.id, attempt, verdict, text),
            Fate::OtherName => {
                self.report(line.id, attempt, Verdict::Refused, "the executor knows neither /run nor /trigger");
            }
            Fate::NotSent { refused, why } => {
                // First that it is not there, or the run would come back to it.
                self.set_aside(line, refused, &why);
                self.report(line.id, attempt, Verdict::Undelivered, why);
            }
            Fate::Unanswered(why) => {
                tracing::warn!(executor = %line.address, %attempt, %why, "a run was sent and not answered");
                let why = format!("its executor was sent it and did not answer: {why}");
                self.tell(Input::Unanswered { agent: line.id, attempt, why });
            }
        }
    }

    /// By the name it knows the call by.
    async fn call_run(&self, line: &Arc<Line>, kept: &mut Option<Connection>, body: &str) -> Fate {
        let dialect = line.dialect();
        let mut became = fate(line.call_once(kept, dialect.call(), body, TAKEN_WITHIN).await);
        if became == Fate::OtherName {
            let other = dialect.other();
            became = fate(line.call_once(kept, other.call(), body, TAKEN_WITHIN).await);
            if became != Fate::OtherName {
                line.speak(other);
            }
        }
        became
    }

    async fn body(&self, order: &Order) -> Result<String, String> {
        let ready = self.ready(order.version).await?;
        let own = match order.params {
            None => None,
            Some(id) => {
                let tasks = self.0.tasks.clone();
                let read = tokio::task::spawn_blocking(move || tasks.content(id)).await.expect("a read does not panic");
                let bytes = read.map_err(|error| error.to_string())?;
                Some(serde_json::from_slice(&bytes).map_err(|error| error.to_string())?)
            }
        };
        Ok(runs::run(order, &ready.task, params(&ready, own)).body())
    }

    async fn ready(&self, version: VersionId) -> Result<Arc<Ready>, String> {
        if let Some(ready) = self.0.ready.get(&version) {
            return Ok(ready);
        }
        let tasks = self.0.tasks.clone();
        let read = tokio::task::spawn_blocking(move || tasks.task(version)).await.expect("a read does not panic");
        let task = read.map_err(|error| error.to_string())?;
        let body: TaskBody = serde_json::from_slice(&task.body).map_err(|error| error.to_string())?;
        let TaskKind::Executor { executor } = body.kind else { return Err("it is no task for an executor".into()) };
        let ready = Arc::new(Ready { task: *executor, params: body.params });
        self.0.ready.insert(version, Arc::clone(&ready));
        Ok(ready)
    }

    fn undelivered(&self, agent: AgentId, orders: Vec<Order>, why: &str) {
        for order in orders {
            self.report(agent, order.attempt, Verdict::Undelivered, why);
        }
    }

    // ---- reaching them

    /// Nothing is sent there until it is reached again.
    pub(super) fn set_aside(&self, line: &Arc<Line>, refused: bool, why: &str) {
        let news = self.0.registry.lock().reached(line.id, false);
        if news != super::registry::News::None {
            tracing::warn!(executor = %line.address, %why, "an executor cannot be reached and is set aside");
        }
        self.spread(news);
        self.undelivered(line.id, line.take_all(), why);
        if line.lost(refused) {
            let (this, line) = (self.clone(), Arc::clone(line));
            self.spawn(async move { this.probe(&line).await });
        }
    }

    async fn probe(&self, line: &Arc<Line>) {
        for wait in PROBES.into_iter().chain(std::iter::repeat(PROBES[4])) {
            tokio::time::sleep(wait).await;
            let (registered, there) = {
                let registry = self.0.registry.lock();
                (registry.is_registered(line.id), registry.is_there(line.id))
            };
            if !registered || there {
                break;
            }
            match line.ask("beat", "{}").await {
                Ok(_) => {
                    line.found(self.0.clock.now());
                    let news = self.0.registry.lock().reached(line.id, true);
                    self.spread(news);
                    break;
                }
                Err(CallError::NotSent { refused, .. }) => {
                    line.lost(refused);
                }
                Err(CallError::Unanswered(_)) => {}
            }
        }
        line.stop_probing();
    }

    // ---- questions

    pub(crate) fn ask(&self, ask: Ask) {
        let this = self.clone();
        self.spawn(async move {
            let (chosen, trail) = this.ask_each(&ask).await;
            this.tell(Input::Asked { attempt: ask.attempt, chosen, trail });
        });
    }

    /// The first that answers well, and what each said before it.
    async fn ask_each(&self, ask: &Ask) -> (Option<AgentId>, String) {
        let mut trail = Vec::new();
        for id in &ask.candidates {
            let Some(line) = self.line(*id) else { continue };
            let (said, good) = match self.question(&line, ask).await {
                Ok(answer) if answer.is_success() => ("ok".to_string(), true),
                Ok(answer) => (answer.message, false),
                Err(error) => (error, false),
            };
            trail.push(format!("{}: {said}", line.address.told()));
            if good {
                return (Some(*id), trail.join("; "));
            }
        }
        (None, trail.join("; "))
    }

    async fn question(&self, line: &Arc<Line>, ask: &Ask) -> Result<Answer, String> {
        let called = match ask.question {
            Question::Alive => line.ask("beat", "{}").await,
            Question::Idle => line.ask("idleBeat", &JobQuestion { job_id: ask.alias }.body()).await,
        };
        if let Err(CallError::NotSent { refused, why }) = &called {
            self.set_aside(line, *refused, why);
        }
        answer(called)
    }

    // ---- ends

    /// Ends all the executor has of these jobs. What it does not tell about within its grace is over, too: an executor
    /// that was told to end a job drops what it had in line without a word.
    pub(super) async fn stop(&self, line: &Arc<Line>, stops: Vec<Stop>) {
        let mut jobs: BTreeMap<i32, Vec<Stop>> = BTreeMap::new();
        for stop in stops {
            if line.take_back(stop.attempt).is_some() {
                self.report(line.id, stop.attempt, Verdict::Stopped, "it had not been sent");
            } else {
                jobs.entry(stop.alias).or_default().push(stop);
            }
        }
        for (alias, stops) in jobs {
            let (this, line) = (self.clone(), Arc::clone(line));
            self.spawn(async move { this.kill(&line, alias, stops).await });
        }
    }

    async fn kill(&self, line: &Arc<Line>, alias: i32, stops: Vec<Stop>) {
        let called = line.ask("kill", &JobQuestion { job_id: alias }.body()).await;
        if let Err(CallError::NotSent { refused, why }) = &called {
            self.set_aside(line, *refused, why);
        }
        match answer(called) {
            // Some executors cannot end anything, and say so.
            Ok(answer) if !answer.is_success() && answer.message.contains("support") => {
                tracing::warn!(executor = %line.address, said = %answer.message, "an executor cannot end its runs");
            }
            Ok(_) => {
                let grace = stops.iter().map(|stop| stop.grace).max().unwrap_or(Span::ZERO);
                tokio::time::sleep(Duration::from_micros(grace.0.max(0) as u64)).await;
                for stop in stops {
                    let why = "its executor was told to end it and has not said how it ended";
                    self.report(line.id, stop.attempt, Verdict::Stopped, why);
                }
            }
            // It is asked again when it can be reached.
            Err(error) => tracing::warn!(executor = %line.address, %error, "a run could not be ended"),
        }
    }

    // ---- signs

    /// Results came: who said that it had nothing of these runs is known for it.
    pub(super) fn told(&self, attempts: &[AttemptId]) {
        let (now, guard) = (self.0.clock.now(), Span::from(self.0.pace.guard));
        for line in self.lines().into_iter().filter(|line| !line.doubts_nothing()) {
            attempts.iter().for_each(|attempt| line.told(*attempt, now, guard));
        }
    }

    pub(super) async fn inspect(&self, line: &Arc<Line>, open: Vec<Inspected>) {
        if !line.begin_inspection() {
            return;
        }
        line.retain_idle(&open.iter().map(|one| one.attempt).collect::<HashSet<AttemptId>>());
        for alias in open.iter().map(|one| one.alias).collect::<BTreeSet<i32>>() {
            let idle = self.is_idle(line, alias).await;
            if idle == Some(false) {
                self.mark(line.id, |executor| executor.tells_busy = true);
            }
            // What it says it has is not in doubt any more.
            for one in open.iter().filter(|one| one.alias == alias && one.taken && one.doubted && idle == Some(false)) {
                let kind = ReportKind::Started { at: one.started_at.unwrap_or(one.ordered_at) };
                self.tell(Input::Report { agent: line.id, report: Report { attempt: one.attempt, seq: 1, kind } });
            }
            for one in open.iter().filter(|one| one.alias == alias) {
                self.judge(line, *one, idle).await;
            }
        }
        line.end_inspection();
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

    async fn judge(&self, line: &Arc<Line>, one: Inspected, idle: Option<bool>) {
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
            taken: one.taken,
            idle,
            honest,
            liar: line.is_liar(),
            logless,
            idle_since: line.idle_since(one.attempt, idle == Some(true), now),
            restarted_at: line.restarted_at(),
        };
        let (verdict, why) = match conclude(signs, Span::from(self.0.pace.guard)) {
            Conclusion::Wait => return,
            Conclusion::Doubt => {
                let why = "its executor says that it has nothing of the job, and was never heard to say otherwise";
                return self.tell(Input::Unanswered { agent: line.id, attempt: one.attempt, why: why.into() });
            }
            Conclusion::NeverCame => (Verdict::Undelivered, "its executor never got it"),
            Conclusion::Gone => (Verdict::Lost, "its executor no longer has it and never said how it ended"),
            Conclusion::Restarted => (Verdict::Lost, "its executor was restarted and never said how it ended"),
        };
        tracing::warn!(executor = %line.address, attempt = %one.attempt, why, "a run ends by the signs");
        self.report(line.id, one.attempt, verdict, why);
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

pub(super) fn answer(called: Result<Response, CallError>) -> Result<Answer, String> {
    let response = called.map_err(|error| error.to_string())?;
    if response.status != 200 {
        return Err(format!("HTTP {}", response.status));
    }
    Answer::read(&response.body).map_err(|error| error.to_string())
}

/// What was given for this instance alone, else the job's own: as it stands if it is one text, else as JSON.
fn params(ready: &Ready, own: Option<serde_json::Value>) -> String {
    match own {
        Some(serde_json::Value::String(text)) => text,
        Some(serde_json::Value::Object(map)) => {
            let mut all = ready.params.clone();
            all.extend(map);
            serde_json::Value::Object(all).to_string()
        }
        Some(other) => other.to_string(),
        None if !ready.params.is_empty() => serde_json::Value::Object(ready.params.clone()).to_string(),
        None => ready.task.params.clone(),
    }
}
