//! The loop of an agent. It has no opinions: it gathers what happened, tells the session, and does what the session
//! asks, in order.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use tokio::sync::mpsc::UnboundedReceiver;
use tokio_util::sync::CancellationToken;
use wire::link::{Down, Up, down, up};
use wire::task::ExitCodes;

use super::clock;
use super::config::{AgentConfig, AgentError, ServerAddress};
use super::hands::{Event, Hands, Work};
use super::load::Load;
use super::logs::{self, LogWork};
use super::own_places::OwnPlaces;
use super::recover::{Recovery, Settled};
use super::servers::{News, Servers};
use crate::data::{DataDir, TakenFile};
use crate::runners::of_ending;
use crate::session::{Act, Record, Server, Session};
use crate::spool::Spool;

/// Messages and events taken in before their reports are written and sent together.
const GATHER_MAX: usize = 64;
/// How long a leaving agent waits for its last reports to be read.
const FAREWELL: Duration = Duration::from_secs(1);
/// How often it looks whether its directory is still its own.
const LOOK_HOME_EVERY: Duration = Duration::from_secs(1);
/// Long enough for a server to have written down what it concluded from a restart of this machine.
const OLD_NEWS_AFTER: u32 = 15;

pub(super) struct Agent {
    session: Session,
    spool: Spool,
    /// The highest term of each shard, as on disk.
    terms: BTreeMap<u32, i64>,
    data: Arc<DataDir>,
    looked_home: Instant,
    hands: Hands,
    events: UnboundedReceiver<Event>,
    logs: logs::Sender,
    own: OwnPlaces,
    load: Load,
    /// How to judge the exit codes of what runs.
    codes: BTreeMap<i64, ExitCodes>,
    acts: Vec<Act>,
    /// Heartbeats each server was sent, until a restart of the machine is old news to all that listen; none after.
    beats: Option<BTreeMap<Server, u32>>,
}

impl Agent {
    pub(super) fn new(
        config: &AgentConfig,
        data: Arc<DataDir>,
        recovery: Recovery,
        hands: Hands,
        events: UnboundedReceiver<Event>,
        logs: logs::Sender,
        own: OwnPlaces,
    ) -> Agent {
        let ended: Vec<i64> = recovery.ended.iter().map(|(attempt, _)| *attempt).collect();
        for (attempt, shard, settled) in recovery.logs {
            let running = recovery.taken.contains_key(&attempt) && !ended.contains(&attempt);
            logs.send(LogWork::Follow { attempt, shard });
            if !running {
                logs.send(LogWork::Ended { attempt, shard });
            }
            if settled == Settled::Yes {
                logs.send(LogWork::Settled { attempt });
            }
        }
        let terms = recovery.session.terms.iter().copied().collect();
        let mut session = Session::new(config.profile.clone(), recovery.session);
        recovery.ended.into_iter().for_each(|(attempt, outcome)| session.on_ended(attempt, outcome));
        Agent {
            session,
            spool: recovery.spool,
            terms,
            load: Load::new(data.root()),
            data,
            looked_home: Instant::now(),
            hands,
            events,
            logs,
            own,
            codes: recovery.taken.into_iter().map(|(attempt, taken)| (attempt, taken.exit)).collect(),
            acts: Vec::new(),
            beats: Some(BTreeMap::new()),
        }
    }

    pub(super) async fn run(mut self, mut servers: Servers, stop: CancellationToken) -> Result<(), AgentError> {
        loop {
            self.session.flush(clock::now(), &mut self.acts);
            self.look_home()?;
            self.perform(&mut servers)?;
            let tick = self.session.next_tick().map(clock::until);
            let sleep = async {
                match tick {
                    Some(pause) => tokio::time::sleep(pause).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = stop.cancelled() => break,
                (server, news) = servers.next() => self.news(&servers, server, news),
                Some(event) = self.events.recv() => self.event(event),
                () = sleep => {}
            }
            self.gather(&mut servers).await;
            self.session.on_tick(clock::now(), &mut self.acts);
        }
        servers.farewell(FAREWELL).await;
        Ok(())
    }

    fn look_home(&mut self) -> Result<(), AgentError> {
        if self.looked_home.elapsed() >= LOOK_HOME_EVERY {
            self.looked_home = Instant::now();
            self.data.check_in_place()?;
        }
        Ok(())
    }

    /// Takes in what has come meanwhile, so that it shares one write and one message.
    async fn gather(&mut self, servers: &mut Servers) {
        for _ in 0..GATHER_MAX {
            let more_events = self.events.try_recv();
            let more = more_events.is_ok();
            more_events.into_iter().for_each(|event| self.event(event));
            let Some((server, news)) = ready(servers.next()).await else { if more { continue } else { return } };
            self.news(servers, server, news);
        }
    }

    fn news(&mut self, servers: &Servers, server: Server, news: News) {
        let now = clock::now();
        if let News::Came(Down { body: Some(down::Body::Welcome(welcome)) }) = &news
            && let Some(Ok(reached)) = servers.address(server).map(ServerAddress::read)
        {
            self.own.told(server, reached, welcome.own.clone());
        }
        match news {
            News::Opened => self.session.on_connected(server, now, &mut self.acts),
            News::Came(down) => self.session.on_down(server, now, down, &mut self.acts),
            News::Lost => self.session.on_disconnected(server),
        }
    }

    fn event(&mut self, event: Event) {
        match event {
            Event::Started { attempt, at } => {
                // A quick one may have ended before we heard that it started.
                if self.session.on_started(clock::now(), attempt, at) {
                    self.logs.send(LogWork::Follow { attempt, shard: self.session.shard_of(attempt) });
                }
            }
            Event::Process { attempt, ending } => {
                let codes = self.codes.remove(&attempt).unwrap_or_default();
                self.ended(attempt, of_ending(ending, &codes, clock::wall()));
            }
            Event::Ended { attempt, outcome } => {
                self.codes.remove(&attempt);
                self.ended(attempt, outcome);
            }
        }
    }

    fn ended(&mut self, attempt: i64, outcome: model::Outcome) {
        let shard = self.session.shard_of(attempt);
        self.session.on_ended(attempt, outcome);
        self.logs.send(LogWork::Ended { attempt, shard });
    }

    fn perform(&mut self, servers: &mut Servers) -> Result<(), AgentError> {
        for act in std::mem::take(&mut self.acts) {
            match act {
                Act::Persist(records) => self.persist(&records)?,
                Act::Send { to, up } => servers.send(to, up),
                Act::Beat { to, sent_at, running } => {
                    if !self.session.has_room() {
                        self.append(&[Record::Acked(Vec::new())]);
                    }
                    let beat = self.load.beat(sent_at, running);
                    servers.send(to, Up { body: Some(up::Body::Beat(beat)) });
                    self.count_beat(to, servers);
                }
                Act::Start(start) => {
                    self.codes.insert(start.order.attempt, start.task.body.exit.clone());
                    self.hands.ask(Work::Start(start));
                }
                Act::Stop { attempt, by, grace } => self.hands.ask(Work::Stop { attempt, by, grace }),
                Act::MoveLeash { attempt, until } => self.hands.ask(Work::MoveLeash { attempt, until }),
                Act::Settled { attempt } => self.settled(attempt),
                Act::Redial { from, reason } => {
                    tracing::info!(reason, "the server asks us to dial again");
                    self.session.on_disconnected(from);
                    servers.redial(from);
                }
                Act::Identified { at, server } => self.given_up(servers.identified(at, server)),
                Act::Servers { by, endpoints } => self.given_up(servers.named(by, endpoints)),
                Act::Owner { shard, server } => {
                    let address = servers.address(server).cloned();
                    self.logs.send(LogWork::Owner { shard, server: address.map(|address| (server, address)) });
                }
                Act::Note(note) => tracing::warn!("{note}"),
            }
        }
        Ok(())
    }

    /// Ways to servers that are no longer used.
    fn given_up(&mut self, ways: Vec<Server>) {
        for server in ways {
            self.session.on_disconnected(server);
            self.logs.send(LogWork::Gone { server });
        }
    }

    fn count_beat(&mut self, to: Server, servers: &Servers) {
        let Some(beats) = &mut self.beats else { return };
        *beats.entry(to).or_default() += 1;
        if servers.open().all(|server| beats.get(&server).is_some_and(|beats| *beats >= OLD_NEWS_AFTER)) {
            self.beats = None;
            // Not worth dying for: a restart is only told once more, to the next server.
            if let Err(error) = self.data.remember_boot() {
                tracing::warn!(%error, "cannot note that the machine's restart is known");
            }
        }
    }

    fn persist(&mut self, records: &[Record]) -> Result<(), AgentError> {
        let before = self.terms.clone();
        for record in records {
            if let Record::Term { shard, term } = record {
                self.terms.insert(*shard, *term);
            }
        }
        if self.terms != before {
            // A fence that is not kept is none, so this is the end: whoever starts us again needs a disk that works.
            self.data.keep_terms(self.terms.iter().map(|(shard, term)| (*shard, *term)))?;
        }
        self.append(records);
        Ok(())
    }

    fn append(&mut self, records: &[Record]) {
        let appended = self.spool.append(records);
        self.session.on_room(appended.is_ok() && self.spool.has_room());
        if let Err(error) = appended {
            tracing::error!(%error, "cannot keep results on disk; nothing is started until that works again");
        }
    }

    fn settled(&mut self, attempt: i64) {
        if let Err(error) = TakenFile::remove(&self.data.taken(), attempt) {
            tracing::warn!(attempt, %error, "cannot drop the record of a settled attempt");
        }
        self.logs.send(LogWork::Settled { attempt });
    }
}

/// The answer of a future if it has one now.
async fn ready<T>(future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(value) => Poll::Ready(Some(value)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}
