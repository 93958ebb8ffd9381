//! What several shards have in common: numbers, messages, and the lines for what their instances share. Nobody is let
//! through by the way the engine thinks of it: who holds is counted anew each time.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use duly_engine::change::{Change, Commit, Draw, Grant};
use duly_engine::{LoadedTicket, Message, MessageId, TicketId};
use model::*;

pub type Shared = Rc<RefCell<Commons>>;

pub struct Commons {
    pub shards: i64,
    next_id: i64,
    next_row: i64,
    pub outbox: BTreeMap<MessageId, (ShardId, Message)>,
    pub units: BTreeMap<ResourceName, u32>,
    /// In the order they were drawn.
    pub tickets: BTreeMap<i64, Ticket>,
}

#[derive(Clone, Debug)]
pub struct Ticket {
    pub of: ResourceName,
    pub shard: ShardId,
    pub instance: InstanceId,
    pub ticket: TicketId,
    pub units: u32,
    pub held: bool,
}

impl Default for Commons {
    fn default() -> Commons {
        Commons {
            shards: 1,
            next_id: 1,
            next_row: 0,
            outbox: BTreeMap::new(),
            units: BTreeMap::new(),
            tickets: BTreeMap::new(),
        }
    }
}

impl Commons {
    pub fn of(shards: i64) -> Shared {
        Rc::new(RefCell::new(Commons { shards, ..Commons::default() }))
    }

    pub fn take_ids(&mut self, count: i64) -> std::ops::Range<i64> {
        self.next_id += count;
        self.next_id - count..self.next_id
    }

    fn row(&mut self) -> i64 {
        self.next_row += 1;
        self.next_row
    }

    pub fn apply(&mut self, shard: ShardId, change: &Change) -> Result<(), String> {
        match change {
            Change::Told { to, message } => {
                assert_ne!(*to, shard, "nobody writes to himself");
                let id = MessageId(self.row());
                self.outbox.insert(id, (*to, message.clone()));
            }
            Change::Took { id } => {
                let ours = self.outbox.remove(id).is_some_and(|(to, _)| to == shard);
                return if ours { Ok(()) } else { Err(format!("nothing to take as {id:?}")) };
            }
            Change::Drawn(draw) => return self.drawn(shard, draw),
            Change::Returned(draw) => {
                let before = self.tickets.len();
                self.tickets.retain(|_, t| (t.instance, t.ticket, t.shard) != (draw.instance, draw.ticket, shard));
                let gone = before - self.tickets.len();
                let all = gone == draw.needs.len();
                return if all { Ok(()) } else { Err(format!("gave back {gone} of {:?}", draw.needs)) };
            }
            Change::ResourcePut { name, units } => {
                self.units.insert(name.clone(), *units);
            }
            other => return Err(format!("not in common: {other:?}")),
        }
        Ok(())
    }

    fn drawn(&mut self, shard: ShardId, draw: &Draw) -> Result<(), String> {
        if self.tickets.values().any(|ticket| ticket.instance == draw.instance) {
            return Err(format!("instance {} stands in line twice", draw.instance));
        }
        for need in &draw.needs {
            let (of, instance, ticket) = (need.of(draw.tenant), draw.instance, draw.ticket);
            let row = self.row();
            self.tickets.insert(row, Ticket { of, shard, instance, ticket, units: need.units, held: false });
        }
        Ok(())
    }

    /// Everybody who can be let through is, in order; each line stops at the first who does not fit.
    pub fn grant(&mut self, commit: &Commit) -> Vec<Grant> {
        let mut free: BTreeMap<ResourceName, i64> = BTreeMap::new();
        for ticket in self.tickets.values() {
            let units = i64::from(self.capacity(&ticket.of));
            let left = free.entry(ticket.of.clone()).or_insert(units);
            *left -= if ticket.held { i64::from(ticket.units) } else { 0 };
        }
        let mut granted = Vec::new();
        for ticket in self.tickets.values_mut().filter(|ticket| !ticket.held) {
            let left = free.get_mut(&ticket.of).expect("counted above");
            if *left < i64::from(ticket.units) {
                *left = 0;
                continue;
            }
            *left -= i64::from(ticket.units);
            ticket.held = true;
            let (kind, name) = (ticket.of.kind, ticket.of.name.clone());
            granted.push(Grant { shard: ticket.shard, instance: ticket.instance, ticket: ticket.ticket, kind, name });
        }
        for Grant { shard, instance, ticket, kind, name } in granted.clone() {
            if shard != commit.shard {
                let id = MessageId(self.row());
                self.outbox.insert(id, (shard, Message::Granted { instance, ticket, kind, name }));
            }
        }
        self.check();
        granted
    }

    /// Nobody may hold more than there is.
    fn check(&self) {
        let mut held: BTreeMap<&ResourceName, u32> = BTreeMap::new();
        for ticket in self.tickets.values().filter(|ticket| ticket.held) {
            *held.entry(&ticket.of).or_default() += ticket.units;
        }
        for (of, held) in held {
            let mutex = of.kind == ResourceKind::Mutex;
            assert!(!mutex || held <= 1, "{} is held by {held}", of.name);
        }
    }

    fn capacity(&self, of: &ResourceName) -> u32 {
        match of.kind {
            ResourceKind::Mutex => 1,
            ResourceKind::Counted => self.units.get(of).copied().unwrap_or(0),
        }
    }

    /// The first of these an instance does not hold.
    pub fn waits(&self, instance: InstanceId, needs: &[Need]) -> Option<Need> {
        let holds = |need: &Need| {
            let mut tickets = self.tickets.values().filter(|ticket| ticket.instance == instance && ticket.held);
            tickets.any(|ticket| (ticket.of.kind, &ticket.of.name) == (need.kind, &need.name))
        };
        needs.iter().find(|need| !holds(need)).cloned()
    }

    pub fn tickets_of(&self, shard: ShardId) -> Vec<LoadedTicket> {
        let ours = self.tickets.values().filter(|ticket| ticket.shard == shard);
        let loaded = ours.map(|t| LoadedTicket {
            instance: t.instance,
            ticket: t.ticket,
            kind: t.of.kind,
            name: t.of.name.clone(),
            held: t.held,
        });
        loaded.collect()
    }

    pub fn waiting_for(&self, shard: ShardId) -> Vec<(MessageId, Message)> {
        let ours = self.outbox.iter().filter(|(_, (to, _))| *to == shard);
        ours.map(|(id, (_, message))| (*id, message.clone())).collect()
    }
}
