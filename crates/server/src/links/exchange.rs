//! Who is reached how: agents over the streams they dialled, executors by being called.

use engine::Ask;
use model::{AgentId, ShardId, Term, VersionId};

use super::Switchboard;
use crate::shard::{Outlets, Parcel};
use crate::xxl::Executors;

pub(crate) struct Exchange {
    pub switchboard: Switchboard,
    pub executors: Executors,
}

impl Outlets for Exchange {
    fn deliver(&self, agent: AgentId, parcel: Parcel) {
        if self.executors.knows(agent) {
            self.executors.deliver(agent, parcel);
        } else {
            self.switchboard.deliver(agent, parcel);
        }
    }

    fn prepare(&self, agent: AgentId, versions: Vec<VersionId>) {
        self.switchboard.prepare(agent, versions);
    }

    fn open(&self, agent: AgentId, serial: u64) -> bool {
        self.switchboard.open(agent, serial)
    }

    fn ask(&self, ask: Ask) {
        self.executors.ask(ask);
    }

    fn greet_all(&self, shard: ShardId, term: Term) {
        self.switchboard.greet_all(shard, term);
        self.executors.greet();
    }
}
