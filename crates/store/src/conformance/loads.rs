//! Loading: exactly what is open, however long.

use std::collections::BTreeMap;

use engine::change::{Change, Row};
use model::{AttemptId, Ending, Span, State};

use super::Bed;
use super::world::{World, ann, at, ended, ended_by};

pub fn loading_finds_exactly_what_is_open(bed: &impl Bed) {
    let mut w = World::new(bed);
    let (a, b) = (w.job("a"), w.job("b"));
    let rows: Vec<Row> = (0..6).map(|n| w.fire(&a, at(n))).collect();
    let far = w.fire(&b, at(86_400 * 30));
    let past = w.fire(&b, at(-86_400 * 30_000));
    w.commit([ended(rows[1], Ending::Succeeded), ended(rows[4], Ending::Skipped(model::SkipReason::Overlap))]);

    let mut again = World::new(bed);
    let expected: Vec<i64> = [0, 2, 3, 5].map(|n| rows[n].id.0).into_iter().chain([far.id.0, past.id.0]).collect();
    assert_eq!(again.open(), expected);
    let stored = again.store.load(again.shard).unwrap();
    let first = stored.open.iter().find(|i| i.id == rows[0].id).unwrap();
    assert_eq!((first.job, first.planned, first.state), (a.id, at(0), State::Scheduled));
    assert_eq!((first.attempt, first.attempt_no, first.created_at), (AttemptId(rows[0].id.0), 1, at(0)));
    let mut jobs: Vec<_> = stored.jobs.iter().map(|job| job.id).collect();
    jobs.sort_unstable();
    assert_eq!(jobs, [a.id, b.id]);
    assert_eq!((stored.versions.len(), stored.contents.len()), (2, 2));
    assert!(stored.unreadable.is_empty());
}

/// A small deterministic sequence; no test depends on which one.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % sides
    }
}

pub fn what_is_open_long_is_found_after_many_batches(bed: &impl Bed) {
    let mut w = World::new(bed);
    let job = w.job("a");
    let mut dice = Dice(7);
    let mut open: BTreeMap<i64, (Row, i64)> = BTreeMap::new();
    let mut over: Vec<Row> = Vec::new();
    let mut now = at(0);
    for round in 0..400_i64 {
        now += Span::secs(20);
        let mut changes = Vec::new();
        for _ in 0..dice.roll(40) {
            // Most are due now, some far ahead; many ids go to other things.
            w.next_id += dice.roll(300) as i64;
            let ahead = if dice.roll(10) == 0 { Span::DAY } else { Span::ZERO };
            let created = w.creation(&job, now + ahead + Span(w.next_id));
            open.insert(created.row.id.0, (created.row, created.attempt.0));
            changes.push(Change::Created(created));
        }
        for (id, (row, attempt)) in open.clone() {
            if dice.roll(3) == 0 && id % 50 != 0 {
                changes.push(ended_by(row, AttemptId(attempt), Ending::Succeeded));
                open.remove(&id);
                over.push(row);
            }
        }
        if dice.roll(8) == 0 && !over.is_empty() {
            let row = over.swap_remove(dice.roll(over.len() as u64) as usize);
            let attempt = w.id();
            let number = 1 + round as u32;
            let (by, at) = (ann(), now);
            changes.push(Change::Reopened { row, attempt: AttemptId(attempt), attempt_no: number, by, at });
            open.insert(row.id.0, (row, attempt));
        }
        w.horizon = now;
        w.commit(changes);
        w.store.tidy(w.shard, now).unwrap();
        if round % 40 == 39 {
            let next_id = w.next_id;
            w = World::new(bed);
            w.next_id = w.next_id.max(next_id);
        }
        if round % 10 == 0 {
            assert_eq!(w.open(), open.keys().copied().collect::<Vec<_>>(), "round {round}");
        }
    }
    assert!(open.len() > 20, "some of them are old: {}", open.len());
    w.tidy_until(now);
    assert_eq!(w.open(), open.keys().copied().collect::<Vec<_>>());
}

pub fn an_unreadable_row_is_reported(bed: &impl Bed) {
    let mut w = World::new(bed);
    let (a, b) = (w.job("a"), w.job("b"));
    let (good, bad) = (w.fire(&a, at(1)), w.fire(&b, at(1)));
    bed.spoil(bad);
    let stored = w.store.load(w.shard).unwrap();
    assert_eq!(stored.open.iter().map(|i| i.id).collect::<Vec<_>>(), [good.id]);
    assert_eq!(stored.unreadable.len(), 1);
    assert_eq!(stored.unreadable[0].0, Some(b.id));
    assert!(stored.unreadable[0].1.contains(&bad.id.to_string()), "{}", stored.unreadable[0].1);
    // The rest goes on: lists leave it out, asking for it says what is wrong.
    let all = crate::read::InstanceFilter { limit: 9, ..Default::default() };
    assert_eq!(w.reads.instances(&all, super::world::soon()).unwrap().len(), 1);
    assert!(w.reads.instance(bad.id, super::world::soon()).is_err());
    w.commit([ended(good, Ending::Succeeded)]);
}
