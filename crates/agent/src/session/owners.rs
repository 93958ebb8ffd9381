//! The owners of shards: their terms, which only rise, and their questions. Whoever comes with the highest term owns the
//! shard for as long as its stream lasts. Absence is stated only to the owner whose term is on disk.

use std::collections::{BTreeMap, BTreeSet};

use wire::link::{self, up};

use super::{Act, Note, Record, Server, Session, Told, held, send, started};

impl Session {
    pub(super) fn on_greet(&mut self, from: Server, greet: link::Greet, out: &mut Vec<Act>) {
        for stored in self.greeted(from, vec![greet], out) {
            out.push(send(from, up::Body::TermStored(stored)));
        }
    }

    /// All their terms are kept with one write.
    pub(super) fn on_greets(&mut self, from: Server, greets: link::Greets, out: &mut Vec<Act>) {
        let items = self.greeted(from, greets.items, out);
        if !items.is_empty() {
            out.push(send(from, up::Body::TermsStored(link::TermsStored { items })));
        }
    }

    fn greeted(&mut self, from: Server, greets: Vec<link::Greet>, out: &mut Vec<Act>) -> Vec<link::TermStored> {
        let claims: Vec<(u32, i64)> = greets.iter().map(|greet| (greet.shard, greet.term)).collect();
        let honoured = self.admit_all(from, &claims, out);
        let shards: BTreeSet<u32> = honoured.keys().copied().collect();
        let mut held_of: BTreeMap<u32, Vec<link::Held>> = BTreeMap::new();
        let runs = self.runs.iter().filter(|(_, run)| shards.contains(&run.shard));
        for held in runs.map(|(attempt, run)| held(*attempt, run)).chain(self.outbox.held(&shards)) {
            held_of.entry(held.shard).or_default().push(held);
        }
        // The owner before may have died with a report in its hands.
        self.outbox.push_all_again(&shards);
        for (attempt, run) in &self.runs {
            if run.told == Told::Started && shards.contains(&run.shard) {
                self.outbox.push_passing(started(*attempt, run));
            }
        }
        let stored = |(shard, term)| link::TermStored { shard, term, held: held_of.remove(&shard).unwrap_or_default() };
        honoured.into_iter().map(stored).collect()
    }

    /// Whether this term is still honoured; a higher one is kept before anything else is done.
    pub(super) fn admit(&mut self, from: Server, shard: u32, term: i64, out: &mut Vec<Act>) -> bool {
        // Every order asks, and nearly always nothing is new.
        if self.terms.get(&shard) == Some(&term) && self.owners.get(&shard) == Some(&from) {
            return true;
        }
        !self.admit_all(from, &[(shard, term)], out).is_empty()
    }

    fn admit_all(&mut self, from: Server, claims: &[(u32, i64)], out: &mut Vec<Act>) -> BTreeMap<u32, i64> {
        let (mut honoured, mut risen) = (BTreeMap::new(), Vec::new());
        for &(shard, term) in claims {
            let known = self.terms.entry(shard).or_insert(i64::MIN);
            if term < *known {
                out.push(Act::Note(Note::StaleTerm { shard, term, known: *known }));
                continue;
            }
            if term > *known {
                *known = term;
                risen.push(Record::Term { shard, term });
            }
            honoured.insert(shard, term);
        }
        if !risen.is_empty() {
            out.push(Act::Persist(risen));
        }
        let fresh: BTreeSet<u32> =
            honoured.keys().copied().filter(|shard| self.owners.insert(*shard, from) != Some(from)).collect();
        if !fresh.is_empty() {
            self.owned_anew(from, &fresh, out);
        }
        honoured
    }

    /// Leashes of these shards are counted from what this owner has seen of us; none becomes shorter by that.
    fn owned_anew(&mut self, owner: Server, shards: &BTreeSet<u32>, out: &mut Vec<Act>) {
        out.extend(shards.iter().map(|shard| Act::Owner { shard: *shard, server: owner }));
        let Some(heard) = self.stream_mut(owner).heard else { return };
        for (attempt, run) in &mut self.runs {
            if run.leash.is_some() && shards.contains(&run.shard) {
                run.lengthen(*attempt, heard, out);
            }
        }
    }

    /// A server that is cut off from the others may still be there for us: it must not keep alive what its successor counts
    /// as lost.
    pub(super) fn on_released(&mut self, from: Server, shards: &[u32]) {
        self.owners.retain(|shard, owner| *owner != from || !shards.contains(shard));
    }

    pub(super) fn on_query(&mut self, from: Server, query: link::Query, out: &mut Vec<Act>) {
        let link::Query { shard, term, attempts } = query;
        // Whoever asks under an old term must hear neither yes nor no.
        if !self.admit(from, shard, term, out) {
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
        out.push(send(from, up::Body::Answer(link::Answer { shard, term, here, not_here })));
    }
}
