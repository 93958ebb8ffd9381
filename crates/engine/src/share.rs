//! Mutexes and counted resources: an instance that could start stands in line for everything it needs, and starts when
//! all of it is its own. The lines are the store's, because jobs of every shard stand in them; here is only who stands.
//!
//! All tickets of an instance are drawn in one commit, with the lines locked in the order of their names, and a line
//! lets through in the order of its tickets, never past one that does not fit yet. So all lines agree on who came
//! first: of those not through, the one that came first waits for holders only, and holders end. Nobody waits in a
//! circle and nobody is overtaken for ever, although a ticket may be let through in one line while it waits in another.
//! That holds only if nobody is passed for any reason: not even one that wants more than there is, or whoever passed it
//! in one line could come to wait for it in another.
//! Taking all or nothing instead would keep the same others waiting, for those behind a ticket may not pass it, and would
//! need the lines of strangers locked when something is given back.
//!
//! What is drawn is given back by whatever ends the instance, between retries, and when the overlap rule holds it back
//! after all; while it may be running nobody else has it, for however long that is not known.

use std::collections::BTreeMap;

use model::{InstanceId, Need, ResourceKind, Timestamp, Why};
use rustc_hash::FxHashMap;

use crate::change::{Change, Draw, Grant, TicketId};
use crate::effect::{Decisions, Effect};
use crate::open::{Open, Phase};
use crate::shard::Shard;

/// The tickets of an instance: which are through.
#[derive(Debug)]
pub(crate) struct Drew {
    ticket: TicketId,
    held: BTreeMap<(ResourceKind, String), bool>,
}

/// A ticket as the store has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedTicket {
    pub instance: InstanceId,
    pub ticket: TicketId,
    pub kind: ResourceKind,
    pub name: String,
    pub held: bool,
}

impl Drew {
    pub(crate) fn of(tickets: Vec<LoadedTicket>) -> FxHashMap<InstanceId, Box<Drew>> {
        let mut all: FxHashMap<InstanceId, Box<Drew>> = FxHashMap::default();
        for one in tickets {
            let fresh = || Box::new(Drew { ticket: one.ticket, held: BTreeMap::new() });
            all.entry(one.instance).or_insert_with(fresh).held.insert((one.kind, one.name), one.held);
        }
        all
    }

    fn is_through(&self) -> bool {
        self.held.values().all(|held| *held)
    }
}

impl Shard {
    /// Draws tickets for what the instance needs, unless it has: true if it must wait for some of it. It could start
    /// otherwise, so that nobody holds what he cannot use.
    pub(crate) fn stands_in_line(&mut self, id: InstanceId, now: Timestamp, out: &mut Decisions) -> bool {
        if self.has_what_it_needs(id) {
            return false;
        }
        let open = self.open.get_mut(&id).expect("being placed");
        let since = match open.phase {
            Phase::Queued { since } => since,
            _ => now,
        };
        if open.drew.is_none() {
            let ticket = TicketId(self.ids.take());
            let held = open.rule.rule.needs.iter().map(|need| ((need.kind, need.name.clone()), false)).collect();
            open.drew = Some(Box::new(Drew { ticket, held }));
            out.change(Change::Drawn(Box::new(draw(open, ticket, now))));
        }
        open.phase = Phase::InLine { since };
        self.flush_later(id, now);
        true
    }

    pub(crate) fn has_what_it_needs(&self, id: InstanceId) -> bool {
        let open = &self.open[&id];
        needs(open).is_empty() || open.drew.as_ref().is_some_and(|drew| drew.is_through())
    }

    /// A commit of ours let a ticket through.
    pub(crate) fn let_in(&mut self, grant: Grant, now: Timestamp, out: &mut Decisions) {
        let Grant { shard, instance, ticket, kind, name } = grant;
        if shard == self.id {
            self.granted(instance, ticket, kind, &name, now, out);
        } else {
            out.effect(Effect::Wake { shard });
        }
    }

    pub(crate) fn granted(
        &mut self,
        id: InstanceId,
        ticket: TicketId,
        kind: ResourceKind,
        name: &str,
        now: Timestamp,
        out: &mut Decisions,
    ) {
        let Some(open) = self.open.get_mut(&id) else { return };
        self.blamed = Some(open.job);
        // News of tickets that were given back since is no news.
        let Some(drew) = open.drew.as_mut().filter(|drew| drew.ticket == ticket) else { return };
        if let Some(held) = drew.held.get_mut(&(kind, name.to_string())) {
            *held = true;
        }
        let Phase::InLine { since } = open.phase else { return };
        if drew.is_through() && !self.try_place(id, now, out) {
            // Things have changed since; it goes on waiting where it did before.
            let open = self.open.get_mut(&id).expect("just looked up");
            open.phase = Phase::Queued { since };
            open.target = open.target.filter(|_| open.pinned);
            let (queue, priority) = (open.queue, open.rule.rule.priority);
            self.queues.push(queue, priority, since, id);
        }
    }

    /// It needs nothing any more, or nothing yet.
    pub(crate) fn give_back(&mut self, id: InstanceId, now: Timestamp, out: &mut Decisions) {
        let open = self.open.get_mut(&id).expect("only open instances hold anything");
        if let Some(drew) = open.drew.take() {
            out.change(Change::Returned(Box::new(draw(open, drew.ticket, now))));
        }
    }

    pub(crate) fn why_in_line(&self, open: &Open) -> Why {
        let held = |need: &&Need| {
            let drew = open.drew.as_ref();
            drew.is_some_and(|drew| drew.held.get(&(need.kind, need.name.clone())) == Some(&true))
        };
        let all = needs(open);
        let Some(need) = all.iter().find(|need| !held(need)).or(all.first()) else { return Why::Ended };
        match need.kind {
            ResourceKind::Mutex => Why::Mutex { name: need.name.clone(), holder: None },
            ResourceKind::Counted => Why::Resource { name: need.name.clone(), wanted: need.units, free: None },
        }
    }
}

/// A broadcast holds for all its shares.
fn needs(open: &Open) -> &[Need] {
    if open.is_listed() { &open.rule.rule.needs } else { &[] }
}

fn draw(open: &Open, ticket: TicketId, at: Timestamp) -> Draw {
    let needs = open.rule.rule.needs.clone();
    Draw { ticket, tenant: open.tenant, job: open.job, instance: open.id, needs, at }
}
