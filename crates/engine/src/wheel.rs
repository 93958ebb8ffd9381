//! A hierarchical timing wheel of one-second ticks: which jobs to look at when. It takes whole slots, and forgets
//! nothing: an entry that no longer holds is recognised by its owner when it comes up.

use std::collections::VecDeque;

use model::{JobId, Timestamp};

const BITS: u32 = 6;
const SLOTS: usize = 1 << BITS;
/// 64⁶ seconds are two thousand years.
const LEVELS: usize = 6;

#[derive(Clone, Copy, Debug)]
struct Entry {
    tick: i64,
    job: JobId,
}

#[derive(Debug)]
struct Level {
    /// One bit per slot that holds anything.
    occupied: u64,
    slots: Box<[Vec<Entry>; SLOTS]>,
}

#[derive(Debug)]
pub(crate) struct Wheel {
    /// The last tick that was taken.
    at: i64,
    levels: [Level; LEVELS],
    /// Entries whose tick has come, or had passed when they were put in.
    late: VecDeque<Entry>,
}

impl Wheel {
    pub(crate) fn new(at: Timestamp) -> Self {
        let levels =
            std::array::from_fn(|_| Level { occupied: 0, slots: Box::new(std::array::from_fn(|_| Vec::new())) });
        Wheel { at: tick_of(at), levels, late: VecDeque::new() }
    }

    pub(crate) fn insert(&mut self, when: Timestamp, job: JobId) {
        let entry = Entry { tick: tick_of(when), job };
        self.put(entry);
    }

    fn put(&mut self, entry: Entry) {
        if entry.tick <= self.at {
            self.late.push_back(entry);
            return;
        }
        let differing = (entry.tick ^ self.at) as u64;
        let level = ((63 - differing.leading_zeros()) / BITS).min(LEVELS as u32 - 1);
        let slot = (entry.tick >> (level * BITS)) as usize & (SLOTS - 1);
        let level = &mut self.levels[level as usize];
        level.occupied |= 1 << slot;
        level.slots[slot].push(entry);
    }

    /// The next tick after which something may come up: never later than the truth.
    pub(crate) fn next_tick(&self) -> Option<i64> {
        if !self.late.is_empty() {
            return Some(self.at);
        }
        for (number, level) in self.levels.iter().enumerate() {
            let shift = number as u32 * BITS;
            let here = (self.at >> shift) as usize & (SLOTS - 1);
            let ahead = level.occupied & !low_bits(here + 1);
            if ahead != 0 {
                let slot = ahead.trailing_zeros() as i64;
                let base = (self.at >> shift) & !(SLOTS as i64 - 1);
                return Some((base | slot) << shift);
            }
        }
        None
    }

    /// Every entry: the job and the tick by which it comes up.
    pub(crate) fn everyone(&self) -> impl Iterator<Item = (JobId, i64)> {
        let slots = self.levels.iter().flat_map(|level| level.slots.iter().flatten());
        slots.chain(&self.late).map(|entry| (entry.job, entry.tick))
    }

    /// Moves to the next tick that holds anything, at most to `until`, and gives some of what is due there, no more than
    /// `room`. None: nothing more up to `until`, where the wheel now stands.
    pub(crate) fn take(&mut self, until: Timestamp, room: usize) -> Option<impl Iterator<Item = JobId>> {
        let until = tick_of(until);
        loop {
            if !self.late.is_empty() {
                let some = self.late.len().min(room);
                return Some(self.late.drain(..some).map(|entry| entry.job));
            }
            let next = self.next_tick().filter(|next| *next <= until);
            let Some(next) = next else {
                self.at = self.at.max(until);
                return None;
            };
            self.at = next;
            self.cascade();
        }
    }

    /// Having arrived at a tick, spreads the slots that begin here into finer ones.
    fn cascade(&mut self) {
        for number in (0..LEVELS).rev() {
            let slot = (self.at >> (number as u32 * BITS)) as usize & (SLOTS - 1);
            let level = &mut self.levels[number];
            if level.occupied & (1 << slot) == 0 {
                continue;
            }
            level.occupied &= !(1 << slot);
            let entries = std::mem::take(&mut level.slots[slot]);
            if number == 0 && self.late.is_empty() {
                // All of them are of this very tick, and may be very many.
                self.late = entries.into();
            } else {
                entries.into_iter().for_each(|entry| self.put(entry));
            }
        }
    }
}

/// The tick by which an instant must have been looked at.
pub(crate) fn tick_of(when: Timestamp) -> i64 {
    when.0.div_euclid(1_000_000).max(0)
}

fn low_bits(count: usize) -> u64 {
    if count >= 64 { u64::MAX } else { (1 << count) - 1 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn drain(wheel: &mut Wheel, until: i64) -> Vec<i64> {
        let mut jobs = Vec::new();
        while let Some(taken) = wheel.take(Timestamp::from_secs(until), 3) {
            jobs.extend(taken.map(|j| j.0));
        }
        jobs
    }

    #[test]
    fn what_has_passed_comes_at_once() {
        let mut wheel = Wheel::new(Timestamp::from_secs(100));
        wheel.insert(Timestamp::from_secs(5), JobId(1));
        assert_eq!(wheel.next_tick(), Some(100));
        assert_eq!(drain(&mut wheel, 100), [1]);
    }

    proptest! {
        #[test]
        fn everything_comes_once_and_in_its_turn(ticks in prop::collection::vec(0i64..5_000_000, 0..200), step in 1i64..900_000) {
            let mut wheel = Wheel::new(Timestamp::from_secs(1_000));
            for tick in &ticks {
                wheel.insert(Timestamp::from_secs(*tick), JobId(*tick));
            }
            let (mut seen, mut until) = (Vec::new(), 1_000);
            while seen.len() < ticks.len() {
                let due = drain(&mut wheel, until);
                for tick in &due {
                    prop_assert!(*tick <= until, "{tick} came by {until}");
                    prop_assert!(until == 1_000 || *tick > until - step || *tick <= 1_000, "{tick} came late, at {until}");
                }
                seen.extend(due);
                until += step;
            }
            let mut expected = ticks.clone();
            expected.sort();
            seen.sort();
            prop_assert_eq!(seen, expected);
            prop_assert_eq!(wheel.next_tick(), None);
        }
    }
}
