//! Runs, sent once each, and executors that cannot be reached. What an answer means is decided in `runs`; what follows
//! from it, by the shard.

use std::sync::Arc;
use std::time::Duration;

use engine::{Input, Order};
use model::{AgentId, Report, ReportKind, Verdict, VersionId};
use wire::task::{TaskBody, TaskKind};

use super::connection::{CallError, Connection};
use super::line::Line;
use super::registry::News;
use super::runs::{self, Fate, STILL_BUSY, TAKEN_WITHIN, fate, is_still_busy};
use super::switch::{Executors, Ready};

/// Between two tries to reach an executor again.
const PROBES: [Duration; 5] = [
    Duration::from_millis(200),
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(3),
    Duration::from_secs(5),
];

impl Executors {
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
            return self.report(
                order.shard,
                line.id,
                attempt,
                Verdict::Undelivered,
                "it waited too long for its executor",
            );
        }
        let body = match self.body(order).await {
            Ok(body) => body,
            Err(error) => {
                tracing::error!(%attempt, %error, "what to run cannot be read; the order is refused");
                let why = format!("what to run cannot be read: {error}");
                return self.report(order.shard, line.id, attempt, Verdict::Refused, why);
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
                self.tell(order.shard, Input::Report { agent: line.id, report: Report { attempt, seq: 1, kind } });
            }
            Fate::Over(verdict, text) => self.report(order.shard, line.id, attempt, verdict, text),
            Fate::OtherName => {
                self.report(
                    order.shard,
                    line.id,
                    attempt,
                    Verdict::Refused,
                    "the executor knows neither /run nor /trigger",
                );
            }
            Fate::NotSent { refused, why } => {
                // First that it is not there, or the run would come back to it.
                self.set_aside(line, refused, &why);
                self.report(order.shard, line.id, attempt, Verdict::Undelivered, why);
            }
            Fate::Unanswered(why) => {
                tracing::warn!(executor = %line.address, %attempt, %why, "a run was sent and not answered");
                let why = format!("its executor was sent it and did not answer: {why}");
                self.tell(order.shard, Input::Unanswered { agent: line.id, attempt, why });
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
            self.report(order.shard, agent, order.attempt, Verdict::Undelivered, why);
        }
    }

    /// Nothing is sent there until it is reached again.
    pub(super) fn set_aside(&self, line: &Arc<Line>, refused: bool, why: &str) {
        let news = self.0.registry.lock().reached(line.id, false);
        if news != News::None {
            tracing::warn!(executor = %line.address, %why, "an executor cannot be reached and is set aside");
        }
        if refused && news != News::None {
            self.tell_refused(line.id);
        }
        self.spread(news);
        self.undelivered(line.id, line.take_all(), why);
        if line.lost(refused, self.0.clock.now()) {
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
                    line.lost(refused, self.0.clock.now());
                }
                Err(CallError::Unanswered(_)) => {}
            }
        }
        line.stop_probing();
    }
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
