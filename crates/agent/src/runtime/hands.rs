//! Starts, stops and leashes tasks on threads of their own, since making a process takes longer than a heartbeat may
//! wait. Work on one attempt is done in the order in which it was asked for.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

use model::{Outcome, Span, Timestamp, Verdict};
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;
use wire::task::TaskKind;

use super::chain::chain;
use super::{clock, http};
use crate::data::{Doing, TakenFile};
use crate::process::{self, Ending, Starter, Watcher};
use crate::runners::Runners;
use crate::session::StartOrder;

/// More do not start processes faster: the kernel is busy with them.
const THREADS: usize = 2;

pub(crate) enum Work {
    Start(Box<StartOrder>),
    Stop { attempt: i64, by: String, grace: Span },
    MoveLeash { attempt: i64, until: Timestamp },
}

/// What became of it.
#[derive(Debug)]
pub(crate) enum Event {
    Started {
        attempt: i64,
        at: Timestamp,
    },
    /// The process of an attempt is over; what that means is judged by its task.
    Process {
        attempt: i64,
        ending: Ending,
    },
    Ended {
        attempt: i64,
        outcome: Outcome,
    },
}

pub(crate) struct Tools {
    pub(crate) starter: Starter,
    pub(crate) runners: Runners,
    pub(crate) watcher: Watcher,
    pub(crate) http: http::Caller,
    pub(crate) run_dir: PathBuf,
    pub(crate) taken_dir: PathBuf,
    pub(crate) events: UnboundedSender<Event>,
    pub(crate) runtime: tokio::runtime::Handle,
    /// The agent leaves, and with it the calls it makes itself.
    pub(crate) leave: CancellationToken,
}

pub(crate) struct Hands {
    threads: Vec<(Sender<Work>, JoinHandle<()>)>,
}

impl Hands {
    pub(crate) fn new(tools: Tools) -> io::Result<Hands> {
        let tools = Arc::new(tools);
        let spawn = |number| {
            let (sender, work) = mpsc::channel();
            let hand = Hand { tools: tools.clone(), calls: HashMap::new() };
            let thread = thread::Builder::new().name(format!("duly-hand-{number}")).spawn(move || hand.run(work))?;
            Ok((sender, thread))
        };
        Ok(Hands { threads: (0..THREADS).map(spawn).collect::<io::Result<_>>()? })
    }

    pub(crate) fn ask(&self, work: Work) {
        let attempt = match &work {
            Work::Start(start) => start.order.attempt,
            Work::Stop { attempt, .. } | Work::MoveLeash { attempt, .. } => *attempt,
        };
        let (thread, _) = &self.threads[attempt.rem_euclid(THREADS as i64) as usize];
        thread.send(work).expect("a hand works for as long as it can be asked");
    }
}

impl Drop for Hands {
    /// What was asked is done: a task half started would be found by nobody.
    fn drop(&mut self) {
        for (work, thread) in self.threads.drain(..) {
            drop(work);
            let _ = thread.join();
        }
    }
}

struct NotStarted {
    verdict: Verdict,
    why: String,
}

struct Hand {
    tools: Arc<Tools>,
    /// HTTP calls under way.
    calls: HashMap<i64, http::Reins>,
}

impl Hand {
    fn run(mut self, work: Receiver<Work>) {
        for work in work {
            match work {
                Work::Start(start) => self.start(*start),
                Work::Stop { attempt, by, grace } => self.stop(attempt, &by, grace),
                Work::MoveLeash { attempt, until } => self.move_leash(attempt, until),
            }
        }
    }

    fn start(&mut self, start: StartOrder) {
        let attempt = start.order.attempt;
        // What this machine does not run leaves no trace.
        if let Err(error) = self.tools.runners.judge(&start) {
            let outcome = Outcome::of(Verdict::Refused, chain(&error), clock::wall());
            return self.tell(Event::Ended { attempt, outcome });
        }
        let doing = match &start.task.body.kind {
            TaskKind::Http(_) => Doing::Http,
            TaskKind::Script { .. } | TaskKind::Command { .. } | TaskKind::Noop | TaskKind::Executor { .. } => {
                Doing::Process
            }
        };
        let at = clock::wall();
        let taken = TakenFile {
            attempt,
            shard: start.order.shard,
            until: start.until.0,
            leash_us: start.order.leash_us,
            started_at: at.0,
            doing,
            exit: start.task.body.exit.clone(),
        };
        let started = match taken.write(&self.tools.taken_dir) {
            Err(error) => Err(failed("cannot note that the attempt was taken", &error)),
            Ok(()) => match doing {
                Doing::Process => self.start_process(&start),
                Doing::Http => {
                    self.start_call(start);
                    Ok(())
                }
            },
        };
        self.tell(match started {
            Ok(()) => Event::Started { attempt, at },
            Err(NotStarted { verdict, why }) => {
                Event::Ended { attempt, outcome: Outcome::of(verdict, why, clock::wall()) }
            }
        });
    }

    fn start_process(&self, start: &StartOrder) -> Result<(), NotStarted> {
        let attempt = start.order.attempt;
        let order = self.tools.runners.prepare(start);
        let (order, secrets) = order.map_err(|error| NotStarted { verdict: Verdict::Refused, why: chain(&error) })?;
        let dir = self.tools.run_dir.join(attempt.to_string());
        let owned = match &secrets {
            None => self.tools.starter.start(&dir, &order),
            Some(secrets) => self.tools.starter.start_with(&dir, &order, secrets),
        };
        let owned = owned.map_err(|error| failed("cannot start the process that owns the task", &error))?;
        if let Err(error) = self.tools.watcher.watch(owned) {
            // It runs, and only the next agent will learn how it ended: better ended than forgotten.
            tracing::error!(attempt, %error, "cannot watch a task that was started; it will be stopped");
            let _ = process::stop(&dir, "the agent, which cannot watch it", Span::SECOND.into());
        }
        Ok(())
    }

    fn start_call(&mut self, start: StartOrder) {
        let attempt = start.order.attempt;
        let (reins, held) = http::reins(start.leash_until);
        self.calls.retain(|_, reins| !reins.is_over());
        self.calls.insert(attempt, reins);
        let tools = self.tools.clone();
        let dir = self.tools.run_dir.join(attempt.to_string());
        self.tools.runtime.spawn(async move {
            tokio::select! {
                outcome = tools.http.run(&start, &dir, held) => {
                    let _ = tools.events.send(Event::Ended { attempt, outcome });
                }
                // The next agent finds that it was taken, and reports it as lost.
                () = tools.leave.cancelled() => {}
            }
        });
    }

    fn stop(&mut self, attempt: i64, by: &str, grace: Span) {
        if let Some(call) = self.calls.remove(&attempt) {
            return call.stop(by);
        }
        let dir = self.tools.run_dir.join(attempt.to_string());
        if let Err(error) = process::stop(&dir, by, grace.into()) {
            tracing::warn!(attempt, %error, "cannot stop a task; it may have ended just now");
        }
    }

    fn move_leash(&mut self, attempt: i64, until: Timestamp) {
        if let Some(call) = self.calls.get(&attempt) {
            return call.move_leash(until);
        }
        let dir = self.tools.run_dir.join(attempt.to_string());
        let Err(error) = process::extend_leash(&dir, until.0.max(0) as u64) else { return };
        tracing::debug!(attempt, %error, "cannot move a leash; the task may have ended just now");
    }

    fn tell(&self, event: Event) {
        // Nobody listens only when the agent is leaving; the next one finds it on disk.
        let _ = self.tools.events.send(event);
    }
}

fn failed(doing: &str, error: &io::Error) -> NotStarted {
    NotStarted { verdict: Verdict::Failed, why: format!("{doing}: {error}") }
}
