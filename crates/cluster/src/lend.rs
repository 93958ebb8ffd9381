//! Lends limits that protect capacity to shards in slices, so that the sum of what all may run is never more than the
//! limit, whoever loses which message. The lender is whoever owns the first shard. Pure: accounts in, slices out.
//!
//! A shard counts with the most it can have: what it runs, what it has confirmed, and what is on its way to it. What is
//! lowered is free when the shard says that it has heard so; until then nothing is raised for it. One message per shard is
//! under way at a time, each says everything, and what is lost is said again. A new lender trusts no account before the
//! shard has heard of it, because slices of its predecessor could still arrive: the first it lends to each is nothing.
//!
//! Starts per second are not had but used up: the lender lets one go at a time, at the pace of the limit, to whoever
//! waits longest.

use std::collections::BTreeMap;

use model::{Account, Budget, ShardId, Slice, Slices, Span, Term, Timestamp};

/// Where limits are set: its account says what they are.
const FIRST: ShardId = ShardId(0);
/// When there is less than one for each who wants, whoever has one keeps it so long for what follows.
pub const TURN: Span = Span::millis(500);
/// A shard that was not heard so long since a budget is lent counts as using none of it: it may never be heard.
pub const PATIENCE: Span = Span::secs(30);
/// Starts closer together than this leave together.
const TOGETHER: Span = Span::millis(10);

#[derive(Debug)]
pub struct Lender {
    term: Term,
    /// All there may be: what one has that was not heard is not known.
    shards: Vec<ShardId>,
    totals: BTreeMap<Budget, u32>,
    books: BTreeMap<ShardId, Book>,
    /// Since when each is lent.
    since: BTreeMap<Budget, Timestamp>,
    /// When the next start may leave, of each pace.
    next_start: BTreeMap<Budget, Timestamp>,
    /// Somebody wants more than there is for him.
    short: bool,
}

/// What is known of one shard.
#[derive(Debug)]
struct Book {
    term: Term,
    /// The last it has confirmed to have, or 0, and what that said.
    seq: u64,
    told: Vec<Slice>,
    lines: BTreeMap<Budget, Line>,
    /// Said, and not confirmed.
    pending: Option<Slices>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Line {
    /// Confirmed.
    units: u32,
    used: u32,
    wanted: u32,
    /// When it was last lent one that another could have had.
    turn: Timestamp,
}

impl Lender {
    pub fn new(term: Term, shards: impl IntoIterator<Item = ShardId>) -> Lender {
        let shards = shards.into_iter().collect();
        let (totals, books, since, next_start) = Default::default();
        Lender { term, shards, totals, books, since, next_start, short: false }
    }

    pub fn term(&self) -> Term {
        self.term
    }

    pub fn hear(&mut self, account: &Account) {
        let fresh = || Book { term: account.term, seq: 0, told: Vec::new(), lines: BTreeMap::new(), pending: None };
        let book = self.books.entry(account.shard).or_insert_with(fresh);
        if account.term < book.term || account.lender > self.term {
            return;
        }
        if account.term > book.term {
            book.begin_again(account.term);
        }
        if account.shard == FIRST {
            let limits = account.holdings.iter().filter_map(|held| Some((held.budget.clone(), held.limit?)));
            self.totals = limits.collect();
        }
        if account.lender == self.term {
            book.hear(account);
        }
    }

    /// What is to be said now; also what was said and not confirmed, if `again`.
    pub fn lend(&mut self, now: Timestamp, again: bool) -> Vec<Slices> {
        let mut units: BTreeMap<ShardId, BTreeMap<Budget, u32>> = BTreeMap::new();
        self.short = false;
        self.since.retain(|budget, _| self.totals.contains_key(budget));
        self.next_start.retain(|budget, _| self.totals.contains_key(budget));
        for (budget, total) in self.totals.clone() {
            self.since.entry(budget.clone()).or_insert(now);
            let lent = match budget {
                Budget::Starts(_) => self.pace(&budget, total, now),
                Budget::Pool(..) | Budget::Running(_) | Budget::Installation => self.share_out(&budget, total, now),
            };
            for (shard, lent) in lent {
                units.entry(shard).or_default().insert(budget.clone(), lent);
            }
        }
        let mut said = Vec::new();
        for (shard, book) in &mut self.books {
            if book.pending.is_some() {
                said.extend(book.pending.clone().filter(|_| again));
                continue;
            }
            let lent = units.remove(shard).unwrap_or_default();
            let slice = |(budget, total): (&Budget, &u32)| {
                let units = lent.get(budget).copied().unwrap_or(0);
                Slice { budget: budget.clone(), total: *total, units }
            };
            let of: Vec<Slice> = self.totals.iter().map(slice).collect();
            if book.seq == 0 || book.told != of {
                let seq = book.seq + 1;
                let slices = Slices { shard: *shard, term: book.term, lender: self.term, seq, of };
                book.pending = Some(slices.clone());
                said.push(slices);
            }
        }
        said
    }

    /// When to lend again although nobody has said anything.
    pub fn next(&self, now: Timestamp) -> Option<Timestamp> {
        let starts = self.next_start.iter().filter(|(budget, _)| {
            let wants = |book: &Book| book.lines.get(budget).is_some_and(|line| line.wanted > 0);
            self.books.values().any(|book| book.is_settled() && wants(book))
        });
        let turn = self.short.then_some(now + Span(TURN.0 / 2));
        starts.map(|(_, at)| *at).chain(turn).min()
    }

    pub fn is_waiting(&self) -> bool {
        self.books.values().any(|book| book.pending.is_some())
    }

    /// The most that all shards can have of it, if all have been heard.
    fn charged(&self, budget: &Budget, now: Timestamp) -> Option<u64> {
        let patient = self.since.get(budget).is_none_or(|since| now - *since < PATIENCE);
        let mut sum = 0;
        for shard in &self.shards {
            match self.books.get(shard).and_then(|book| book.charge(budget)) {
                Some(charge) => sum += u64::from(charge),
                None if patient => return None,
                None => {}
            }
        }
        Some(sum)
    }

    /// What each shard that can be told something shall have of what runs at once.
    fn share_out(&mut self, budget: &Budget, total: u32, now: Timestamp) -> BTreeMap<ShardId, u32> {
        // Whoever is heard late may count with more than it has: while that makes too much, nobody is lent anything.
        let left = self.charged(budget, now).and_then(|charged| u64::from(total).checked_sub(charged));
        let (lends, mut free) = (left.is_some(), left.unwrap_or(0) as u32);
        let mut borrowers: Vec<Borrower> = Vec::new();
        for (shard, book) in &mut self.books {
            let (charge, settled, lent) = (book.charge(budget), book.is_settled(), book.lent(budget));
            if let (Some(charge), Some(line)) = (charge, book.lines.get_mut(budget)) {
                borrowers.push(Borrower { shard: *shard, charge, settled, lent, line });
            }
        }
        let demands: Vec<u32> = borrowers.iter().map(|one| one.line.demand(total)).collect();
        let fair = fair(&demands, total, |at, level| borrowers[at].place(level, now));
        for (one, fair) in borrowers.iter_mut().zip(&fair) {
            let before = one.lent;
            if lends && one.settled && one.lent < *fair {
                let more = (*fair).min(one.charge + free);
                free -= more.saturating_sub(one.charge);
                one.lent = one.lent.max(more);
            }
            // A turn begins when it gets one, and anew when nobody else wants it.
            if one.lent > before || (*fair > 0 && one.lent > 0 && now - one.line.turn >= TURN) {
                one.line.turn = now;
            }
        }
        let unmet = borrowers.iter().zip(&fair).any(|(one, fair)| one.lent < *fair);
        // Who got none waits for a turn, also when nobody says anything.
        self.short |= unmet || demands.iter().zip(&fair).any(|(demand, fair)| *demand > 0 && *fair == 0);
        let reserve = free / (2 * self.shards.len().max(1) as u32);
        for (at, one) in borrowers.iter_mut().enumerate().filter(|(_, one)| one.settled) {
            if unmet {
                // What is not used, or more than its share, is taken back from whoever has it.
                one.lent = one.lent.min(fair[at]);
            } else if one.lent == demands[at] {
                // There is plenty: what comes next need not ask.
                one.lent += reserve;
            }
        }
        borrowers.into_iter().map(|one| (one.shard, one.lent)).collect()
    }

    /// How many each shard shall have begun in all.
    fn pace(&mut self, budget: &Budget, per_second: u32, now: Timestamp) -> BTreeMap<ShardId, u32> {
        let apart = Span(Span::SECOND.0 / i64::from(per_second.max(1)));
        let saved = if apart < TOGETHER { TOGETHER } else { Span(0) };
        // Nobody knows what was started before.
        let next = self.next_start.entry(budget.clone()).or_insert(now + apart);
        let mut lent = BTreeMap::new();
        let mut waiting: Vec<(ShardId, &mut Line)> = Vec::new();
        for (shard, book) in &mut self.books {
            let (settled, units) = (book.is_settled(), book.lent(budget));
            let Some(line) = book.lines.get_mut(budget) else { continue };
            lent.insert(*shard, units);
            if settled && line.wanted > 0 {
                waiting.push((*shard, line));
            }
        }
        while *next <= now {
            let first = waiting.iter_mut().filter(|(shard, line)| lent[shard] - line.units < line.wanted);
            let Some((shard, line)) = first.min_by_key(|(shard, line)| (line.turn, lent[shard] - line.units)) else {
                break;
            };
            line.turn = now;
            *lent.get_mut(shard).expect("just listed") += 1;
            *next = (*next).max(now - saved) + apart;
        }
        lent
    }
}

impl Book {
    /// The shard was loaded anew. It has nothing, but until it has heard from us another may lend to it.
    fn begin_again(&mut self, term: Term) {
        for slice in self.pending.take().into_iter().flat_map(|pending| pending.of) {
            // Of what it has never said what it uses, nobody knows that still.
            if let Some(line) = self.lines.get_mut(&slice.budget) {
                line.units = line.units.max(slice.units);
            }
        }
        // How many were started is counted anew.
        self.lines.retain(|budget, _| !matches!(budget, Budget::Starts(_)));
        self.told.clear();
        (self.term, self.seq) = (term, 0);
    }

    /// What a shard says that has heard of this lender.
    fn hear(&mut self, account: &Account) {
        if let Some(pending) = self.pending.take_if(|pending| pending.seq == account.seq) {
            self.seq = pending.seq;
            self.told = pending.of;
            self.lines.values_mut().for_each(|line| line.units = 0);
            for slice in &self.told {
                self.lines.entry(slice.budget.clone()).or_default().units = slice.units;
            }
        }
        // An older account says no more than that the shard had no less then.
        if account.seq != self.seq || self.seq == 0 {
            return;
        }
        self.lines.retain(|budget, _| account.holdings.iter().any(|held| held.budget == *budget));
        for held in &account.holdings {
            let line = self.lines.entry(held.budget.clone()).or_default();
            (line.used, line.wanted) = (held.used, held.wanted);
        }
    }

    /// The most the shard can have of it; None if nobody knows.
    fn charge(&self, budget: &Budget) -> Option<u32> {
        let line = self.lines.get(budget)?;
        let pending = self.pending.iter().flat_map(|pending| &pending.of).find(|slice| slice.budget == *budget);
        Some(line.units.max(line.used).max(pending.map_or(0, |slice| slice.units)))
    }

    /// It has what it was told, and may be told more.
    fn is_settled(&self) -> bool {
        self.pending.is_none() && self.seq > 0
    }

    /// What it has, or will have when it has heard what is on its way.
    fn lent(&self, budget: &Budget) -> u32 {
        let of = self.pending.as_ref().map_or(&self.told, |pending| &pending.of);
        of.iter().find(|slice| slice.budget == *budget).map_or(0, |slice| slice.units)
    }
}

impl Line {
    fn demand(&self, total: u32) -> u32 {
        self.used.saturating_add(self.wanted).min(total)
    }
}

/// A shard as far as one budget is concerned.
struct Borrower<'b> {
    shard: ShardId,
    /// The most it can have.
    charge: u32,
    settled: bool,
    lent: u32,
    line: &'b mut Line,
}

impl Borrower<'_> {
    /// Who comes first when some get one more than the others, who get this many: the smallest.
    fn place(&self, level: u32, now: Timestamp) -> (bool, Timestamp) {
        let keeps = self.lent > level && (level > 0 || now - self.line.turn < TURN);
        (!keeps, self.line.turn)
    }
}

/// Everybody gets what he wants up to the same level; what is left over goes to those who come first.
fn fair<P: Ord>(demands: &[u32], total: u32, place: impl Fn(usize, u32) -> P) -> Vec<u32> {
    let mut sorted = demands.to_vec();
    sorted.sort_unstable();
    let (mut level, mut left) = (u32::MAX, total);
    for (n, demand) in sorted.iter().enumerate() {
        let share = left / (sorted.len() - n) as u32;
        if *demand > share {
            level = share;
            break;
        }
        left -= demand;
    }
    let mut fair: Vec<u32> = demands.iter().map(|demand| (*demand).min(level)).collect();
    let mut left = total.saturating_sub(fair.iter().sum());
    let mut more: Vec<usize> = (0..demands.len()).filter(|at| demands[*at] > level).collect();
    more.sort_by_key(|at| place(*at, level));
    for at in more {
        let one = left.min(1);
        (fair[at], left) = (fair[at] + one, left - one);
    }
    fair
}
