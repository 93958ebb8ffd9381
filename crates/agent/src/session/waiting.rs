//! Orders that wait for a slot. With many shards nobody but the agent knows how many of its slots are in use, so one order
//! more is no mistake of anybody's: it is held, and starts when there is room. The last instant to start is judged when
//! an order comes; one that waits is known to be here, and may start after it.

use model::{Outcome, Verdict};
use wire::link;

use super::{Act, Kept, Note, Now, Session, StartOrder};

/// So many may wait; a burst of a whole pool's orders fits, and a mistake is not kept without end.
pub(super) const WAITING_MAX: usize = 10_000;

impl Session {
    /// In the order in which they came, as far as there are slots, and room to keep how they end.
    pub(super) fn start_waiting(&mut self, now: Now, out: &mut Vec<Act>) {
        while !self.full && !self.waiting.is_empty() && self.slots.take() {
            let mut start = self.waiting.pop_front().expect("just looked at");
            let attempt = start.order.attempt;
            let run = self.runs.get_mut(&attempt).expect("what waits is held");
            start.leash_until = run.leash.and_then(|leash| leash.until);
            if start.leash_until.is_some_and(|until| until < now.steady) {
                self.slots.give_back();
                self.drop_waiting(now, &start, out);
                continue;
            }
            run.begun = true;
            out.push(Act::Start(start));
        }
    }

    /// Its server may have given it to another agent by now.
    fn drop_waiting(&mut self, now: Now, start: &StartOrder, out: &mut Vec<Act>) {
        let (attempt, shard) = (start.order.attempt, start.order.shard);
        let why = "its server was silent for longer than its leash while it waited for a slot";
        out.push(Act::Note(Note::NotStarted { attempt, why }));
        self.runs.remove(&attempt);
        self.end(attempt, shard, start.until, Outcome::of(Verdict::Undelivered, why, now.wall), Kept::Journal);
    }

    /// Whether it was one that waits; it ends without having run.
    pub(super) fn stop_waiting(&mut self, now: Now, stop: &link::Stop) -> bool {
        let Some(place) = self.waiting.iter().position(|start| start.order.attempt == stop.attempt) else {
            return false;
        };
        let start = self.waiting.remove(place).expect("just found");
        self.runs.remove(&stop.attempt);
        let message = format!("stopped by {} while it waited for a slot", stop.by);
        let outcome = Outcome::of(Verdict::Stopped, message, now.wall);
        self.end(stop.attempt, start.order.shard, start.until, outcome, Kept::Journal);
        true
    }
}
