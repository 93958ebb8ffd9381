//! What a session is told and what it asks for: time, records for the disk, and acts to be done in their order.
//! Only data; nothing here decides.

use std::sync::Arc;

use model::{Span, Timestamp};
use wire::link::{self, Up};
use wire::task::TaskBody;

/// One moment on two clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// What people read; it may jump. Stamps only.
    pub wall: Timestamp,
    /// Counts on evenly, sleep included. Everything is judged by this one.
    pub steady: Timestamp,
}

impl Now {
    /// A world with a single clock, as in a simulation.
    pub fn both(at: Timestamp) -> Now {
        Now { wall: at, steady: at }
    }
}

/// One way to a server, by the number the world around the session gave it. Two ways may lead to the same server; the
/// session takes them for two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Server(pub u32);

/// Asked of the world around a session. Acts are done in order: what is to be kept is on disk before what follows.
#[derive(Clone, Debug, PartialEq)]
pub enum Act {
    Persist(Vec<Record>),
    Send {
        to: Server,
        up: Up,
    },
    /// Send a heartbeat with this time and the machine's load.
    Beat {
        to: Server,
        sent_at: Timestamp,
        running: u32,
    },
    Start(Box<StartOrder>),
    Stop {
        attempt: i64,
        by: String,
        grace: Span,
    },
    /// The task may run until this instant of the steady clock, no longer to be ended before it.
    MoveLeash {
        attempt: i64,
        until: Timestamp,
    },
    /// The ending of an attempt that left files is on the server's disk: they are needed for their log only.
    Settled {
        attempt: i64,
    },
    /// The stream is of no more use: dial again.
    Redial {
        from: Server,
        reason: String,
    },
    /// Which server it is that this way leads to.
    Identified {
        at: Server,
        server: i64,
    },
    /// Where all living servers are: dial those there is no stream to.
    Servers {
        by: Server,
        endpoints: Vec<String>,
    },
    /// This server owns the shard from now on: output of its attempts goes there.
    Owner {
        shard: u32,
        server: Server,
    },
    Note(Note),
}

/// What an agent must know again after it was killed.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// Must survive a power cut, for a fence that is forgotten is none.
    Term {
        shard: u32,
        term: i64,
    },
    Ended(Ending),
    /// These endings are known to the server.
    Acked(Vec<i64>),
}

/// An ending with what is needed to recognise a late repeat of its order.
#[derive(Clone, Debug, PartialEq)]
pub struct Ending {
    pub report: link::Report,
    /// No order of it can be under way after this instant of the server's clock.
    pub until: Timestamp,
}

#[derive(Clone, Debug, PartialEq)]
pub struct StartOrder {
    pub order: link::Order,
    pub task: Arc<Task>,
    /// First deadline of a leashed attempt, on the steady clock.
    pub leash_until: Option<Timestamp>,
    /// As in [`Ending::until`].
    pub until: Timestamp,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    pub job: i64,
    pub job_name: String,
    pub body: TaskBody,
    pub tenant: String,
    pub pool: String,
}

/// Who this agent says it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    pub name: String,
    pub pools: Vec<String>,
    pub labels: std::collections::BTreeMap<String, String>,
    pub slots: u32,
    pub version: String,
    /// Kinds of task its policy lets it run; all if empty.
    pub tasks: Vec<String>,
    /// Its policy, for people.
    pub policy: String,
}

/// What was on disk when the agent started.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recovered {
    pub terms: Vec<(u32, i64)>,
    pub running: Vec<Taken>,
    /// Endings nobody acknowledged, oldest first.
    pub unacked: Vec<Ending>,
    /// Endings that were acknowledged, each with its [`Ending::until`].
    pub graves: Vec<(i64, Timestamp)>,
    /// The machine restarted since this agent last ran.
    pub rebooted: bool,
    /// When it did, on the steady clock.
    pub booted: Timestamp,
}

/// An attempt that was taken before and still runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    pub attempt: i64,
    pub shard: u32,
    pub until: Timestamp,
    pub started_at: Option<Timestamp>,
    pub leash: Option<Span>,
}

/// Worth a line in the agent's log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Note {
    #[error("an owner of shard {shard} came with term {term}, but {known} is known")]
    StaleTerm { shard: u32, term: i64, known: i64 },
    #[error("attempt {attempt} was not started: {why}")]
    NotStarted { attempt: i64, why: &'static str },
    #[error("task version {version} cannot be read: {error}")]
    UnreadableTask { version: i64, error: String },
    #[error("the server speaks protocol {server} (version {version}), this agent speaks {agent}")]
    OtherProtocol { server: u32, version: String, agent: u32 },
}
