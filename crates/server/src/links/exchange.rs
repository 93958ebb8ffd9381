//! Who is reached how: agents over the streams they dialled, executors by being called.

use engine::Ask;
use model::{AgentId, ShardId, VersionId};

use super::Switchboard;
use crate::postman::Bell;
use crate::shard::{Outlets, Parcel, Seat};
use crate::xxl::Executors;

pub(crate) struct Exchange {
    pub switchboard: Switchboard,
    pub executors: Executors,
    pub bell: Bell,
}

impl Outlets for Exchange {
    fn deliver(&self, from: Seat, agent: AgentId, parcel: Parcel) {
        if self.executors.knows(agent) {
            self.executors.deliver(from.shard, agent, parcel);
        } else {
            self.switchboard.deliver(from, agent, parcel);
        }
    }

    fn prepare(&self, agent: AgentId, versions: Vec<VersionId>) {
        self.switchboard.prepare(agent, versions);
    }

    fn open(&self, shard: ShardId, agent: AgentId, serial: u64) -> bool {
        self.switchboard.open(shard, agent, serial)
    }

    fn ask(&self, shard: ShardId, ask: Ask) {
        self.executors.ask(shard, ask);
    }

    fn wake(&self, shard: ShardId) {
        self.bell.ring(shard);
    }

    fn greet_all(&self, seat: Seat) {
        self.switchboard.greet_all(seat);
        self.executors.greet(seat.shard);
    }

    fn let_go(&self, shard: ShardId) {
        self.switchboard.let_go(shard);
    }
}
