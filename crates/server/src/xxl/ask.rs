//! Questions to executors, and the one request they may refuse: to end what they have of a job.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use engine::{Ask, Input, Question};
use model::{AgentId, ShardId, Span, Verdict};
use wire::xxl::{Answer, JobQuestion};

use super::connection::CallError;
use super::http::Response;
use super::line::Line;
use super::switch::Executors;
use crate::shard::Stop;

impl Executors {
    pub(crate) fn ask(&self, shard: ShardId, ask: Ask) {
        let this = self.clone();
        self.spawn(async move {
            let (chosen, trail) = this.ask_each(&ask).await;
            this.tell(shard, Input::Asked { attempt: ask.attempt, chosen, trail });
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

    /// Ends all the executor has of these jobs. What it does not tell about within its grace is over, too: an executor
    /// that was told to end a job drops what it had in line without a word.
    pub(super) async fn stop(&self, shard: ShardId, line: &Arc<Line>, stops: Vec<Stop>) {
        let mut jobs: BTreeMap<i32, Vec<Stop>> = BTreeMap::new();
        for stop in stops {
            if line.take_back(stop.attempt).is_some() {
                self.report(shard, line.id, stop.attempt, Verdict::Stopped, "it had not been sent");
            } else {
                jobs.entry(stop.alias).or_default().push(stop);
            }
        }
        for (alias, stops) in jobs {
            let (this, line) = (self.clone(), Arc::clone(line));
            self.spawn(async move { this.kill(shard, &line, alias, stops).await });
        }
    }

    async fn kill(&self, shard: ShardId, line: &Arc<Line>, alias: i32, stops: Vec<Stop>) {
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
                    self.report(shard, line.id, stop.attempt, Verdict::Stopped, why);
                }
            }
            // It is asked again when it can be reached.
            Err(error) => tracing::warn!(executor = %line.address, %error, "a run could not be ended"),
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
