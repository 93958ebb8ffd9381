//! What shards tell one another, and the lines for what they share.

use engine::change::{Commit, Draw, Ends, Grant, Message, MessageId};
use engine::{LoadedTicket, TicketId};
use model::{InstanceId, JobId, ResourceName, ShardId, Timestamp};

use super::apply::{Applied, found};
use super::state::State;
use crate::line::{lines_of, units_at_first};
use crate::read::{Letter, ResourceRecord, TicketRecord};

#[derive(Clone, Debug)]
pub(super) struct Resource {
    pub units: u32,
    pub allowed: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Ticket {
    pub shard: ShardId,
    pub job: JobId,
    pub instance: InstanceId,
    pub ticket: TicketId,
    pub units: u32,
    pub held: bool,
    pub at: Timestamp,
}

impl State {
    pub(super) fn told(&mut self, from: ShardId, to: ShardId, message: &Message) -> Applied {
        let id = MessageId(self.row_number());
        self.outbox.put(id, Letter { id, to, from, message: message.clone() });
        Ok(())
    }

    pub(super) fn took(&mut self, shard: ShardId, id: MessageId) -> Applied {
        let ours = self.outbox.get(&id).is_some_and(|letter| letter.to == shard);
        found(ours && self.outbox.delete(&id), || "nobody told us, or it was taken already".into())
    }

    pub(super) fn follower(&mut self, shard: ShardId, job: JobId, follower: JobId, ends: Option<Ends>) -> Applied {
        match ends {
            Some(ends) => self.followers.put((job, follower), (shard, ends)),
            None => {
                self.followers.delete(&(job, follower));
            }
        }
        Ok(())
    }

    pub(super) fn forget_followers(&mut self, job: JobId) {
        let all = (job, JobId(i64::MIN))..=(job, JobId(i64::MAX));
        let gone: Vec<_> = self.followers.range(all).map(|(key, _)| *key).collect();
        for key in gone {
            self.followers.delete(&key);
        }
    }

    pub(super) fn drawn(&mut self, shard: ShardId, draw: &Draw) -> Applied {
        for need in &draw.needs {
            let name = need.of(draw.tenant);
            let twice = self.line(&name).any(|(_, ticket)| ticket.instance == draw.instance);
            found(!twice && need.units > 0, || format!("it stands in the line of {} already", need.name))?;
            if !self.resources.contains_key(&name) {
                let units = units_at_first(&name);
                self.resources.put(name.clone(), Resource { units, allowed: units.into() });
            }
            let number = self.row_number();
            let (instance, units, held) = (draw.instance, need.units, false);
            let ticket = Ticket { shard, job: draw.job, instance, ticket: draw.ticket, units, held, at: draw.at };
            self.tickets.put((name, number), ticket);
        }
        Ok(())
    }

    pub(super) fn returned(&mut self, shard: ShardId, draw: &Draw) -> Applied {
        for need in &draw.needs {
            let name = need.of(draw.tenant);
            let ours =
                |ticket: &Ticket| (ticket.shard, ticket.instance, ticket.ticket) == (shard, draw.instance, draw.ticket);
            let number = self.line(&name).find(|(_, ticket)| ours(ticket)).map(|(number, _)| number);
            let number = number.ok_or_else(|| format!("it does not stand in the line of {}", need.name))?;
            self.tickets.delete(&(name, number));
        }
        Ok(())
    }

    pub(super) fn resource_put(&mut self, name: &ResourceName, units: u32) -> Applied {
        let held = self.held(name);
        self.resources.put(name.clone(), Resource { units, allowed: held.max(units.into()) });
        Ok(())
    }

    /// Lets through whom the batch made room for.
    pub(super) fn grant(&mut self, commit: &Commit) -> Vec<Grant> {
        let mut granted = Vec::new();
        for name in lines_of(commit) {
            let units = self.resources.get(&name).map_or(0, |resource| u64::from(resource.units));
            let mut free = units.saturating_sub(self.held(&name));
            let waiting: Vec<_> = self.line(&name).filter(|(_, t)| !t.held).map(|(n, t)| (n, t.clone())).collect();
            for (number, ticket) in waiting {
                let Some(left) = free.checked_sub(ticket.units.into()) else { break };
                free = left;
                self.tickets.edit(&(name.clone(), number), |ticket| ticket.held = true);
                let (shard, instance, ticket) = (ticket.shard, ticket.instance, ticket.ticket);
                granted.push(Grant { shard, instance, ticket, kind: name.kind, name: name.name.clone() });
            }
        }
        for Grant { shard, instance, ticket, kind, name } in granted.clone() {
            if shard != commit.shard {
                let message = Message::Granted { instance, ticket, kind, name };
                self.told(commit.shard, shard, &message).expect("anybody can be told anything");
            }
        }
        granted
    }

    /// In order.
    pub(super) fn line<'a>(&'a self, name: &ResourceName) -> impl Iterator<Item = (i64, &'a Ticket)> + use<'a> {
        let all = (name.clone(), i64::MIN)..=(name.clone(), i64::MAX);
        self.tickets.range(all).map(|((_, number), ticket)| (*number, ticket))
    }

    fn held(&self, name: &ResourceName) -> u64 {
        self.line(name).filter(|(_, ticket)| ticket.held).map(|(_, ticket)| u64::from(ticket.units)).sum()
    }

    pub(super) fn tickets_of_shard(&self, shard: ShardId) -> Vec<LoadedTicket> {
        let ours = self.tickets.iter().filter(|(_, ticket)| ticket.shard == shard);
        let loaded = ours.map(|((name, _), ticket)| LoadedTicket {
            instance: ticket.instance,
            ticket: ticket.ticket,
            kind: name.kind,
            name: name.name.clone(),
            held: ticket.held,
        });
        loaded.collect()
    }

    pub(super) fn resource_records(&self) -> Vec<ResourceRecord> {
        let record = |(name, resource): (&ResourceName, &Resource)| ResourceRecord {
            name: name.clone(),
            units: resource.units,
            allowed: resource.allowed,
            held: self.held(name),
            waiting: self.line(name).filter(|(_, ticket)| !ticket.held).count() as u64,
        };
        self.resources.iter().map(record).collect()
    }
}

pub(super) fn ticket_record(of: &ResourceName, ticket: &Ticket) -> TicketRecord {
    let Ticket { shard, job, instance, units, held, at, .. } = *ticket;
    TicketRecord { of: of.clone(), shard, job, instance, units, held, at }
}
