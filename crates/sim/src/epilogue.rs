//! The end of a history: the faults stop, everything must end, and the ledger is held against the plan.

use std::collections::BTreeSet;

use engine::Command;
use model::{JobId, JobMode, Span, State, Timestamp};
use store::Reads;
use store::read::{InstanceFilter, LedgerEntry};

use crate::checker::{Broken, Checker};
use crate::world::{BEGIN, World, soon};

/// After the faults stop, everything must have ended by then.
const PATIENCE: Span = Span::HOUR;

impl World {
    /// Faults have stopped: jobs are paused, and everything that is open must end.
    pub(crate) fn wind_down(&mut self) -> Result<(), Broken> {
        self.store.plan([]);
        let end = self.now + PATIENCE;
        loop {
            let enabled: Vec<JobId> =
                self.jobs().iter().filter(|job| job.mode == JobMode::Enabled).map(|job| job.id).collect();
            let open = self.open_instances();
            if enabled.is_empty() && open.is_empty() {
                return Ok(());
            }
            if self.now > end {
                let stuck = open.first().map(|i| format!("{} {:?} {:?} {:?}", i.id, i.state, i.why, i.uncertain));
                return Err(Broken(format!("{} instances never ended: {stuck:?}", open.len())));
            }
            for job in enabled {
                self.command(Command::SetMode { job, mode: JobMode::Paused })?;
            }
            self.run_for(Span::secs(2))?;
        }
    }

    fn open_instances(&self) -> Vec<model::Instance> {
        let open: Vec<State> = State::ALL.into_iter().filter(|state| state.is_open()).collect();
        let filter = InstanceFilter { states: open, limit: 1_000, ..InstanceFilter::default() };
        self.store.instances(&filter, soon()).expect("memory reads")
    }

    pub(crate) fn check_ledger(&self) -> Result<(), Broken> {
        let (from, to) = (BEGIN, self.now + Span::DAY);
        for (job, rule) in &self.rules {
            if matches!(rule.rule.trigger.when, model::When::Delay { .. }) {
                continue;
            }
            let intervals = self.store.intervals(Some(*job), from, to, soon()).expect("memory reads");
            let mut planned = Vec::new();
            for interval in intervals.iter().filter(|interval| interval.mode == JobMode::Enabled) {
                let until = interval.until.unwrap_or(self.now);
                let mut next = rule.next_after(interval.since, interval.since);
                while let Some(at) = next.filter(|at| *at <= until) {
                    planned.push(at);
                    next = rule.next_after(at, interval.since);
                }
            }
            let entries = self.store.ledger(*job, from, to, soon()).expect("memory reads");
            let planned_set: BTreeSet<Timestamp> = planned.iter().copied().collect();
            // What a person stopped ahead of its time stays in the books, even if the job changed before it came, and
            // even if somebody ran it after all.
            let stopped_ahead = |entry: &LedgerEntry| {
                (entry.state == State::Stopped || entry.reopened) && !planned_set.contains(&entry.planned)
            };
            let fired: Vec<Timestamp> = entries
                .into_iter()
                .filter(|entry| entry.by_trigger && !stopped_ahead(entry))
                .map(|entry| entry.planned)
                .collect();
            let gaps = self.store.gaps(Some(*job), from, to, soon()).expect("memory reads");
            Checker::ledger(*job, &planned, &fired, gaps.iter().map(|gap| gap.count).sum())?;
        }
        Ok(())
    }
}
