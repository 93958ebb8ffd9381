//! The end of a history: the faults stop, everything must end, and the ledger is held against the plan.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use engine::{Command, Compiled};
use model::{Instance, JobId, JobMode, Span, State, Timestamp};
use store::Reads;
use store::memory::MemoryStore;
use store::read::{InstanceFilter, LedgerEntry};

use crate::checker::{Broken, Checker, Promise};
use crate::world::{BEGIN, World, soon};

/// After the faults stop, everything must have ended by then.
pub(crate) const PATIENCE: Span = Span::HOUR;

impl World {
    /// Faults have stopped: jobs are paused, and everything that is open must end.
    pub(crate) fn wind_down(&mut self) -> Result<(), Broken> {
        self.store.plan([]);
        let end = self.now + PATIENCE;
        loop {
            let enabled: Vec<JobId> =
                self.jobs().iter().filter(|job| job.mode == JobMode::Enabled).map(|job| job.id).collect();
            let open = open_instances(&self.store);
            if enabled.is_empty() && open.is_empty() {
                return Ok(());
            }
            if self.now > end {
                return Err(never_ended(&open));
            }
            for job in enabled {
                self.command(Command::SetMode { job, mode: JobMode::Paused })?;
            }
            self.run_for(Span::secs(2))?;
        }
    }
}

pub(crate) fn open_instances(store: &MemoryStore) -> Vec<Instance> {
    let open: Vec<State> = State::ALL.into_iter().filter(|state| state.is_open()).collect();
    let filter = InstanceFilter { states: open, limit: 1_000, ..InstanceFilter::default() };
    store.instances(&filter, soon()).expect("memory reads")
}

pub(crate) fn never_ended(open: &[Instance]) -> Broken {
    let stuck = open.first().map(|i| {
        format!("{} of job {} is {:?} at {:?}: {:?} {:?}", i.id, i.job, i.state, i.target, i.why, i.uncertain)
    });
    Broken::new(Promise::ComesToItsEnd, format!("{} instances never ended: {stuck:?}", open.len()))
}

/// Every planned time of every job has one entry in the books, and nothing else has.
pub(crate) fn check_ledger(
    store: &MemoryStore,
    rules: &BTreeMap<JobId, Arc<Compiled>>,
    now: Timestamp,
) -> Result<(), Broken> {
    let (from, to) = (BEGIN, now + Span::DAY);
    for (job, rule) in rules {
        if matches!(rule.rule.trigger.when, model::When::Delay { .. }) {
            continue;
        }
        let intervals = store.intervals(Some(*job), from, to, soon()).expect("memory reads");
        let mut planned = Vec::new();
        for interval in intervals.iter().filter(|interval| interval.mode == JobMode::Enabled) {
            let until = interval.until.unwrap_or(now);
            let mut next = rule.next_after(interval.since, interval.since);
            while let Some(at) = next.filter(|at| *at <= until) {
                planned.push(at);
                next = rule.next_after(at, interval.since);
            }
        }
        let entries = store.ledger(*job, from, to, soon()).expect("memory reads");
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
        let gaps = store.gaps(Some(*job), from, to, soon()).expect("memory reads");
        Checker::ledger(*job, &planned, &fired, gaps.iter().map(|gap| gap.count).sum())?;
    }
    Ok(())
}
