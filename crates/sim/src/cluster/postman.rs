//! Brings shards what others told them, as the server's own does: read for all that run here, under the term each had
//! before. A wake-up that is lost is a longer wait, so there are only longer and shorter waits.

use model::{ShardId, Span, Term, Timestamp};
use store::StoreError;
use store::read::Letter;

use super::desk::Ask;
use super::driver::Told;
use super::process::{Bits, Process};

pub(super) enum Postman {
    /// Nothing is shared and nobody is followed: shards have nothing to say.
    Idle,
    Waits(Timestamp),
    Reads,
}

impl Postman {
    pub(super) fn next(&self) -> Option<Timestamp> {
        if let Postman::Waits(until) = self { Some(*until) } else { None }
    }
}

impl Process {
    pub(super) fn fetch_letters(&mut self, bits: &mut Bits) {
        if self.postman.next().is_some_and(|at| at <= bits.now) {
            self.postman = Postman::Reads;
            let terms = self.runs.iter().map(|(shard, run)| (*shard, run.term())).collect();
            self.ask(Ask::Letters(terms), bits);
        }
    }

    pub(super) fn bring_letters(
        &mut self,
        terms: Vec<(ShardId, Term)>,
        letters: Result<Vec<Letter>, StoreError>,
        bits: &mut Bits,
    ) {
        let wait =
            if bits.die.one_in(8) { bits.die.between(200_000, 1_500_000) } else { bits.die.between(2_000, 60_000) };
        self.postman = Postman::Waits(bits.now + Span(wait));
        let letters = letters.unwrap_or_default();
        for (shard, term) in terms {
            let ours: Vec<Letter> = letters.iter().filter(|letter| letter.to == shard).cloned().collect();
            if let Some(run) = self.runs.get_mut(&shard).filter(|_| !ours.is_empty()) {
                run.tell(Told::Heard { term, letters: ours });
            }
        }
    }
}
