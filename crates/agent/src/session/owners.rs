//! The owners of shards: their terms, which only rise, and their questions. Absence is stated only to the owner whose
//! term is on disk.

use wire::link::{self, up};

use super::{Act, Note, Record, Session, held, send};

impl Session {
    pub(super) fn on_greet(&mut self, greet: link::Greet, out: &mut Vec<Act>) {
        let link::Greet { shard, term } = greet;
        if self.admit(shard, term, out) {
            let running = self.runs.iter().filter(|(_, run)| run.shard == shard).map(|(id, run)| held(*id, run));
            let held = running.chain(self.outbox.held(shard)).collect();
            out.push(send(up::Body::TermStored(link::TermStored { shard, term, held })));
            // The owner before may have died with a report in its hands.
            self.outbox.push_all_again(Some(shard));
        }
    }

    /// Whether this term is still honoured; a higher one is kept before anything else is done.
    pub(super) fn admit(&mut self, shard: u32, term: i64, out: &mut Vec<Act>) -> bool {
        let known = self.terms.entry(shard).or_insert(i64::MIN);
        if term < *known {
            out.push(Act::Note(Note::StaleTerm { shard, term, known: *known }));
            return false;
        }
        if term > *known {
            *known = term;
            out.push(Act::Persist(vec![Record::Term { shard, term }]));
        }
        true
    }

    pub(super) fn on_query(&mut self, query: link::Query, out: &mut Vec<Act>) {
        let link::Query { shard, term, attempts } = query;
        // Whoever asks under an old term must hear neither yes nor no.
        if !self.admit(shard, term, out) {
            return;
        }
        let (mut here, mut not_here) = (Vec::new(), Vec::new());
        for attempt in attempts {
            let run = self.runs.get(&attempt).map(|run| held(attempt, run));
            match run.or_else(|| self.outbox.held_of(attempt)) {
                Some(held) => here.push(held),
                None => not_here.push(attempt),
            }
            self.outbox.push_again(attempt);
        }
        out.push(send(up::Body::Answer(link::Answer { shard, term, here, not_here })));
    }
}
