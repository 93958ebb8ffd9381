//! What an agent finds when it starts: attempts that still run, that ended while nobody looked, that never began, and
//! endings nobody has acknowledged.

use std::collections::{BTreeMap, BTreeSet};

use model::{Outcome, Timestamp};

use super::config::AgentError;
use super::{clock, logs};
use crate::data::{DataDir, Doing, TakenFile};
use crate::process::{self, Ending, Owned, State};
use crate::runners::{of_ending, of_orphan};
use crate::session::Recovered;
use crate::spool::{Spool, SpoolLimits};

pub(crate) struct Recovery {
    pub(crate) session: Recovered,
    pub(crate) spool: Spool,
    /// Of everything in `session.running`: how to judge its end.
    pub(crate) taken: BTreeMap<i64, TakenFile>,
    pub(crate) watch: Vec<Owned>,
    /// To be told to the session, which knows these as running.
    pub(crate) ended: Vec<(i64, Outcome)>,
    /// Attempts whose output may not have been taken yet, whose they are if that is known, and whether they are known to
    /// be settled.
    pub(crate) logs: Vec<(i64, Option<u32>, Settled)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Settled {
    Yes,
    NotYet,
}

pub(crate) fn recover(data: &DataDir, limits: SpoolLimits) -> Result<Recovery, AgentError> {
    let rebooted = data.rebooted()?;
    let opened = Spool::open(&data.spool(), limits, clock::wall());
    let (spool, found) = opened.map_err(AgentError::io("open the journal of results"))?;
    if found.cut_bytes > 0 {
        tracing::warn!(bytes = found.cut_bytes, "the journal of results had a torn end, which was cut off");
    }
    let mut dirs = BTreeMap::new();
    for found in process::adopt(&data.run()).map_err(AgentError::io("look for running tasks"))? {
        dirs.insert(found.attempt, found.state);
    }
    let acked: BTreeSet<i64> = found.graves.iter().map(|(attempt, _)| *attempt).collect();
    let reported: BTreeSet<i64> = found.unacked.iter().map(|ending| ending.report.attempt).collect();
    let mut recovery = Recovery {
        session: Recovered {
            terms: data.terms()?,
            running: Vec::new(),
            unacked: found.unacked,
            graves: found.graves,
            rebooted,
            // The steady clock counts from then.
            booted: Timestamp(0),
        },
        spool,
        taken: BTreeMap::new(),
        watch: Vec::new(),
        ended: Vec::new(),
        logs: Vec::new(),
    };
    for taken in taken(data, &acked)? {
        recovery.take_up(taken, rebooted, &reported, &mut dirs);
    }
    for (attempt, state) in dirs {
        if let State::Running(_) = state {
            tracing::error!(attempt, "a task runs of which no record is left; it is left alone");
            continue;
        }
        let shard = logs::noted_shard(&data.run().join(attempt.to_string()));
        recovery.logs.push((attempt, shard, Settled::Yes));
    }
    Ok(recovery)
}

/// What was taken and is not settled.
fn taken(data: &DataDir, acked: &BTreeSet<i64>) -> Result<Vec<TakenFile>, AgentError> {
    let dir = data.taken();
    let (all, unreadable) = TakenFile::all(&dir).map_err(AgentError::io("read which attempts were taken"))?;
    for path in unreadable {
        tracing::warn!(path, "a record was cut short before its task started; it is dropped");
        std::fs::remove_file(path).map_err(AgentError::io("drop a record"))?;
    }
    let (settled, open): (Vec<_>, Vec<_>) = all.into_iter().partition(|taken| acked.contains(&taken.attempt));
    for taken in settled {
        TakenFile::remove(&dir, taken.attempt).map_err(AgentError::io("drop a record"))?;
    }
    Ok(open)
}

impl Recovery {
    fn take_up(&mut self, taken: TakenFile, rebooted: bool, reported: &BTreeSet<i64>, dirs: &mut BTreeMap<i64, State>) {
        let (attempt, now) = (taken.attempt, clock::wall());
        let found = dirs.remove(&attempt);
        if found.is_some() {
            self.logs.push((attempt, Some(taken.shard), Settled::NotYet));
        }
        // Its ending is in the journal: the session knows.
        if reported.contains(&attempt) {
            return;
        }
        self.session.running.push(taken.session());
        match (taken.doing, found) {
            (Doing::Process, Some(State::Running(owned))) => self.watch.push(owned),
            (Doing::Process, Some(State::Ended(ending))) => {
                // A machine that went down may have lost the proof that something ran.
                let ending = match ending {
                    Ending::NeverStarted if rebooted => Ending::Vanished { survivors: 0 },
                    ending => ending,
                };
                self.ended.push((attempt, of_ending(ending, &taken.exit, now)));
            }
            (Doing::Process, None) => self.ended.push((attempt, of_orphan(rebooted, now))),
            (Doing::Http, _) => self.ended.push((attempt, of_orphan(true, now))),
        }
        self.taken.insert(attempt, taken);
    }
}
