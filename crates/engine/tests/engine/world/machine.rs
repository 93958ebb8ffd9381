//! A machine that takes orders as an agent does: an attempt runs once however often it is ordered, and a report is
//! kept until it is acknowledged.

use std::collections::{BTreeMap, BTreeSet};

use duly_engine::Order;
use duly_engine::input::Held;
use model::*;

pub struct Machine {
    pub record: AgentRecord,
    /// The wire is up.
    pub connected: bool,
    /// How long everything takes here, and how it ends; none: the script says.
    pub runs: Option<Span>,
    pub running: BTreeMap<AttemptId, Running>,
    /// Every attempt that ever began here.
    pub begun: BTreeSet<AttemptId>,
    pub unacknowledged: BTreeMap<AttemptId, Report>,
}

pub struct Running {
    pub started_at: Option<Timestamp>,
    pub ends_at: Option<Timestamp>,
    pub verdict: Verdict,
}

impl Machine {
    pub fn new(record: AgentRecord) -> Machine {
        Machine {
            record,
            connected: false,
            runs: None,
            running: BTreeMap::new(),
            begun: BTreeSet::new(),
            unacknowledged: BTreeMap::new(),
        }
    }

    pub fn take(&mut self, order: &Order, now: Timestamp) {
        if !self.connected || !self.begun.insert(order.attempt) {
            return;
        }
        let ends_at = self.runs.map(|runs| now + runs);
        let started_at = self.runs.map(|_| now);
        self.running.insert(order.attempt, Running { started_at, ends_at, verdict: Verdict::Succeeded });
    }

    pub fn stop(&mut self, attempt: AttemptId, now: Timestamp) {
        if let Some(running) = self.running.get_mut(&attempt).filter(|_| self.connected && self.runs.is_some()) {
            (running.ends_at, running.verdict) = (Some(now), Verdict::Stopped);
        }
    }

    pub fn next_end(&self) -> Option<(Timestamp, AttemptId)> {
        self.running.iter().filter_map(|(attempt, running)| Some((running.ends_at?, *attempt))).min()
    }

    /// The attempt is over; the report is to be sent now and again until it is acknowledged.
    pub fn end(&mut self, attempt: AttemptId, verdict: Verdict, now: Timestamp) -> Report {
        let started_at = self.running.remove(&attempt).and_then(|running| running.started_at);
        let mut outcome = Outcome::of(verdict, "", now);
        (outcome.message, outcome.started_at) = (None, started_at);
        let report = Report { attempt, seq: 2, kind: ReportKind::Ended(Box::new(outcome)) };
        self.unacknowledged.insert(attempt, report.clone());
        report
    }

    /// The power failed: nothing runs here any more, and what was not reported is gone.
    pub fn reboot(&mut self) {
        self.running.clear();
        self.unacknowledged.clear();
    }

    pub fn held(&self) -> Vec<Held> {
        let running = self.running.iter().map(|(attempt, r)| Held { attempt: *attempt, started_at: r.started_at });
        let ended = self.unacknowledged.keys().map(|attempt| Held { attempt: *attempt, started_at: None });
        running.chain(ended).collect()
    }
}
