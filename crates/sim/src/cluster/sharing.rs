//! What the jobs of a history share, and bugs planted in how it is given back.

use std::collections::BTreeMap;

use engine::change::{Answer, Change, Commit, Draw, Grant};
use model::{Ending, InstanceId, Need, Overlap, ResourceKind, ResourceName, Route, Rule, TenantId};

use super::Mutant;
use super::scenario::every;

/// Of which there are so many.
const SEAT: (&str, u32) = ("seat", 3);
const GATE: &str = "gate";

pub(super) fn seats() -> (ResourceName, u32) {
    (ResourceName { tenant: TenantId::DEFAULT, kind: ResourceKind::Counted, name: SEAT.0.into() }, SEAT.1)
}

/// Jobs of all shards need one thing, the other, or both; one of them all there is.
pub(super) fn share(rule: &mut Rule, n: usize) {
    let (gate, seat) = (1, |units| Need { kind: ResourceKind::Counted, name: SEAT.0.into(), units });
    let gate = Need { kind: ResourceKind::Mutex, name: GATE.into(), units: gate };
    rule.needs = match n % 8 {
        1 => vec![gate, seat(1)],
        3 => vec![gate],
        4 => vec![seat(1)],
        6 => vec![seat(SEAT.1)],
        7 => vec![gate, seat(2)],
        _ => return,
    };
    // Not more than can ever have its turn.
    rule.trigger.when = every(if n % 8 == 4 { "0/2 * * * * ?" } else { "0/5 * * * * ?" });
    if matches!(rule.overlap, Overlap::Allow { .. }) {
        rule.overlap = Overlap::Queue { max: 2 };
    }
    if rule.pool.route == Route::Broadcast && n % 8 != 6 {
        rule.pool.route = Route::Round;
    }
}

/// A planted bug in what is given back, and when.
#[derive(Default)]
pub(super) struct Meddler {
    drawn: BTreeMap<InstanceId, Box<Draw>>,
    early: Vec<InstanceId>,
}

impl Meddler {
    /// What is written instead.
    pub(super) fn changes(&mut self, mutant: Option<Mutant>, commit: &mut Commit) {
        match mutant {
            Some(Mutant::ReturnForgotten) => {
                let stopped = |change: &Change, id: InstanceId| matches!(change, Change::Ended(ended) if ended.row.id == id && matches!(ended.ending, Ending::Stopped(_)));
                let all = commit.changes.clone();
                commit.changes.retain(|change| match change {
                    Change::Returned(draw) => !all.iter().any(|other| stopped(other, draw.instance)),
                    _ => true,
                });
            }
            Some(Mutant::ReturnedWhenAsked) => self.return_early(commit),
            _ => {}
        }
    }

    /// Whoever is asked to stop gives back what it still uses, and not when it has stopped.
    fn return_early(&mut self, commit: &mut Commit) {
        let mut changes = Vec::new();
        for change in std::mem::take(&mut commit.changes) {
            match &change {
                Change::Drawn(draw) => drop(self.drawn.insert(draw.instance, draw.clone())),
                Change::Returned(draw) => {
                    self.drawn.remove(&draw.instance);
                    if let Some(at) = self.early.iter().position(|id| *id == draw.instance) {
                        self.early.swap_remove(at);
                        continue;
                    }
                }
                Change::Stopping { row, .. } => {
                    if let Some(draw) = self.drawn.remove(&row.id) {
                        self.early.push(row.id);
                        changes.push(Change::Returned(draw));
                    }
                }
                _ => {}
            }
            changes.push(change);
        }
        commit.changes = changes;
    }

    /// What is answered instead.
    pub(super) fn answers(&self, mutant: Option<Mutant>, commit: &Commit, answers: &mut Vec<Answer>) {
        if mutant != Some(Mutant::LetInWithout) {
            return;
        }
        for change in &commit.changes {
            let Change::Drawn(draw) = change else { continue };
            let granted = draw.needs.iter().map(|need| Grant {
                shard: commit.shard,
                instance: draw.instance,
                ticket: draw.ticket,
                kind: need.kind,
                name: need.name.clone(),
            });
            answers.extend(granted.map(Answer::Granted));
        }
    }
}
