//! One agent's working stream: words of ours become messages down, messages up become inputs of the shard. Decides
//! nothing; what is lost with a stream is asked for again on the next.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cluster::Stretch;
use engine::{Input, Order};
use model::{AgentId, Outcome, Report, ReportKind, ShardId, Verdict, VersionId};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tonic::{Status, Streaming};
use wire::link::{self, Down, Hello, Up, down, up};

use super::ahead::{self, Ahead};
use super::hear::{SILENCE_MAX, listen};
use super::service::{LinkService, Stands};
use super::switchboard::Word;
use super::uptime::Uptime;
use super::values::Needs;
use crate::shard::{Parcel, Seat};

const BEAT_EVERY: Duration = Duration::from_secs(2);
/// Orders in one message.
const ORDERS_MAX: usize = 500;
/// A stream remembers so many tasks; then both sides start over.
const TASKS_MAX: usize = 100_000;

type Downs = mpsc::Sender<Result<Down, Status>>;

/// How an agent came in.
pub(super) struct Way {
    /// Nobody can listen in between.
    pub private: bool,
    /// Good until the agent is cut off.
    pub pass: CancellationToken,
}

pub(super) async fn run(link: LinkService, agent: AgentId, way: Way, mut ups: Streaming<Up>, downs: Downs) {
    let Some(hello) = first_word(&mut ups).await else { return };
    let Some(record) = link.doorman.record_of(agent, &hello, link.clock.now()) else {
        let _ = downs.send(Err(Status::unauthenticated("this agent was removed"))).await;
        return;
    };
    let stretch = link.tenure.as_ref().map(|tenure| tenure.stretch());
    let (serial, words) = link.switchboard.connect(agent, link.clock.now());
    tracing::info!(%agent, name = %record.name, "agent connected");
    let talker = tokio::spawn(talk(
        link.clone(),
        Ear { protocol: hello.protocol, private: way.private },
        stretch,
        words,
        downs.clone(),
    ));
    let uptime = Uptime::of(&hello, Instant::now());
    tokio::select! {
        biased;
        () = way.pass.cancelled() => {}
        () = listen(&link, &record, uptime, serial, stretch, &mut ups, &downs) => {}
    }
    talker.abort();
    if link.switchboard.disconnect(agent, serial) {
        tracing::warn!(%agent, name = %record.name, "agent is gone");
        link.shards.tell_all(&Input::AgentGone { agent });
    }
}

async fn first_word(ups: &mut Streaming<Up>) -> Option<Hello> {
    let first = tokio::time::timeout(SILENCE_MAX, ups.message()).await.ok()?.ok()??;
    match first.body {
        Some(up::Body::Hello(hello)) => Some(hello),
        _ => None,
    }
}

// ---- down

async fn talk(
    link: LinkService,
    ear: Ear,
    stretch: Option<Stretch>,
    mut words: mpsc::UnboundedReceiver<Word>,
    downs: Downs,
) {
    let welcome = link::Welcome {
        protocol: link::PROTOCOL,
        now: link.clock.now().0,
        beat_every_ms: BEAT_EVERY.as_millis() as u32,
        version: env!("CARGO_PKG_VERSION").into(),
        server: link.server,
        own: link.own.clone(),
    };
    let mut mouth = Mouth { link, protocol: ear.protocol, private: ear.private, downs, told: HashMap::new() };
    let mut open = mouth.say(down::Body::Welcome(welcome)).await;
    if !mouth.link.switchboard.servers().is_empty() {
        let servers = mouth.link.switchboard.servers();
        open = open && mouth.name_servers(servers).await;
    }
    // A greeting lengthens leashes, too.
    if mouth.link.stands(stretch) == Stands::Yes {
        let seats = mouth.link.switchboard.seats();
        open = open && mouth.greet(seats).await;
    }
    let (mut next, mut ahead) = (None, Ahead::default());
    while open {
        let heard = async {
            match next.take() {
                Some(word) => Some(word),
                None => words.recv().await,
            }
        };
        let word = tokio::select! {
            biased;
            Some(word) = heard => word,
            read = mouth.look_ahead(&mut ahead), if !ahead.is_empty() => {
                open = mouth.carry(read).await;
                continue;
            }
            else => break,
        };
        // An agent counts leashes from the last heartbeat that was answered, and over this stream none will be any more: what
        // is owned anew is ordered over a new one.
        if mouth.link.stands(stretch) == Stands::NoMore {
            break;
        }
        open = match word {
            Word::Greet(seat) => {
                // A server that takes many shards over greets for all of them: one write at the agent, not one each.
                let mut seats = vec![seat];
                while let Ok(word) = words.try_recv() {
                    match word {
                        Word::Greet(seat) => seats.push(seat),
                        other => {
                            next = Some(other);
                            break;
                        }
                    }
                }
                mouth.greet(seats).await
            }
            Word::Released(shard) => mouth.released(shard).await,
            Word::Servers(endpoints) => mouth.name_servers(endpoints).await,
            Word::Parcel(from, parcel) => mouth.hand_over(from, parcel).await,
            Word::Prepare(versions) => {
                ahead.add(versions);
                true
            }
            Word::Close { reason } => {
                mouth.say(down::Body::Goodbye(link::Goodbye { reason: reason.into() })).await;
                false
            }
        };
    }
    // Ending the stream is how the agent learns that it must dial again.
    let _ = mouth.downs.send(Err(Status::unavailable("the stream was closed by the server"))).await;
}

/// Who hears what is said.
#[derive(Clone, Copy)]
struct Ear {
    /// What the agent speaks.
    protocol: u32,
    /// Nobody else can listen.
    private: bool,
}

struct Mouth {
    link: LinkService,
    protocol: u32,
    private: bool,
    downs: Downs,
    /// Versions whose task this stream has carried, and what orders of them must be told.
    told: HashMap<VersionId, Option<Arc<Needs>>>,
}

impl Mouth {
    /// False: the stream is gone.
    async fn say(&mut self, body: down::Body) -> bool {
        self.downs.send(Ok(Down { body: Some(body) })).await.is_ok()
    }

    /// All at once to an agent that can keep them with one write.
    async fn greet(&mut self, seats: Vec<Seat>) -> bool {
        let greets = seats.into_iter().map(|seat| link::Greet { shard: seat.shard.0 as u32, term: seat.term.0 });
        if self.protocol >= link::SEVERAL_SERVERS {
            return self.say(down::Body::Greets(link::Greets { items: greets.collect() })).await;
        }
        for greet in greets {
            if !self.say(down::Body::Greet(greet)).await {
                return false;
            }
        }
        true
    }

    async fn released(&mut self, shard: ShardId) -> bool {
        if self.protocol < link::SEVERAL_SERVERS {
            return true;
        }
        self.say(down::Body::Released(link::Released { shards: vec![shard.0 as u32] })).await
    }

    async fn name_servers(&mut self, endpoints: Vec<String>) -> bool {
        if self.protocol < link::SEVERAL_SERVERS {
            return true;
        }
        self.say(down::Body::Servers(link::Servers { endpoints })).await
    }

    async fn hand_over(&mut self, from: Seat, parcel: Parcel) -> bool {
        let shard = from.shard.0 as u32;
        let mut open = true;
        if !parcel.acks.is_empty() {
            let items = parcel.acks.iter().map(|(attempt, seq)| link::Ack { attempt: attempt.0, seq: *seq }).collect();
            open = self.say(down::Body::Acks(link::Acks { items })).await;
        }
        for orders in parcel.orders.chunks(ORDERS_MAX) {
            open = open && self.order(orders).await;
        }
        for stop in parcel.stops {
            let body = link::Stop { attempt: stop.attempt.0, by: stop.by, grace_us: stop.grace.0, shard };
            open = open && self.say(down::Body::Stop(body)).await;
        }
        if !parcel.queries.is_empty() {
            let attempts = parcel.queries.iter().map(|attempt| attempt.0).collect();
            let query = link::Query { shard, term: from.term.0, attempts };
            open = open && self.say(down::Body::Query(query)).await;
        }
        open
    }

    async fn order(&mut self, orders: &[Order]) -> bool {
        if !self.tell_tasks(orders.iter().map(|order| order.version)).await {
            return false;
        }
        let mut items = Vec::with_capacity(orders.len());
        for order in orders {
            let Some(needs) = self.told.get(&order.version).cloned() else {
                self.refuse(order, Verdict::Undelivered, "what to run cannot be read: its task is gone");
                continue;
            };
            let params = self.params(order).await;
            // What never left may be tried again: the store may be read by then.
            let unread = |error| (Verdict::Undelivered, format!("what to run cannot be read: {error}"));
            let message = match (params.map_err(unread), needs) {
                (Ok(params), None) => Ok(order_message(order, params)),
                (Ok(params), Some(needs)) => {
                    self.confide(order, params, needs).await.map_err(|error| (Verdict::Refused, error))
                }
                (Err(error), _) => Err(error),
            };
            match message {
                Ok(message) => {
                    let private_networks = Some(self.link.calls.may_call_private(order.tenant));
                    items.push(link::Order { private_networks, ..message });
                }
                Err((verdict, error)) => self.refuse(order, verdict, &error),
            }
        }
        items.is_empty() || self.say(down::Body::Orders(link::Orders { items })).await
    }

    /// Sends what these versions run, as far as this stream has not carried it. A version that cannot be read stays
    /// untold. False: the stream is gone.
    async fn tell_tasks(&mut self, versions: impl Iterator<Item = VersionId>) -> bool {
        let unknown: BTreeSet<VersionId> = versions.filter(|version| !self.told.contains_key(version)).collect();
        if unknown.is_empty() {
            return true;
        }
        let read = ahead::read(&self.link.tasks, unknown.into_iter().collect());
        self.carry(read.await.expect("a read does not panic")).await
    }

    /// The next tasks to be sent ahead, once everything said before is with the network: an order that comes then does
    /// not stand behind them.
    async fn look_ahead(&self, ahead: &mut Ahead) -> ahead::Read {
        drop(self.downs.reserve_many(self.downs.max_capacity()).await);
        ahead.next(&self.link.tasks, |version| self.told.contains_key(version)).await
    }

    async fn carry(&mut self, read: ahead::Read) -> bool {
        if self.told.len() + read.len() > TASKS_MAX {
            self.told.clear();
            if !self.say(down::Body::ForgetTasks(link::ForgetTasks {})).await {
                return false;
            }
        }
        for (version, task) in read {
            let (tenant, task) = match task {
                Ok(told) => told,
                Err(error) => {
                    tracing::error!(%version, %error, "what a version runs cannot be read");
                    continue;
                }
            };
            self.told.insert(version, task.needs.clone());
            let body = link::Task {
                version: version.0,
                job: task.job.0,
                job_name: task.job_name.clone(),
                body: task.body.clone().into(),
                pool: task.pool.clone(),
                tenant,
            };
            if !self.say(down::Body::Task(body)).await {
                return false;
            }
        }
        true
    }

    /// With what its task names, or why it cannot be sent.
    async fn confide(&self, order: &Order, params: Vec<u8>, needs: Arc<Needs>) -> Result<link::Order, String> {
        if self.protocol < link::VALUES {
            return Err("its agent is too old to be told variables and secrets; upgrade it".into());
        }
        if !needs.uses.secrets.is_empty() && !self.private {
            return Err("its agent is connected neither by TLS nor from this machine, and is told no secrets".into());
        }
        let (values, tenant) = (self.link.values.clone(), order.tenant);
        let look_up = tokio::task::spawn_blocking(move || values.look_up(tenant, &needs));
        let told = look_up.await.expect("a read does not panic")?;
        Ok(link::Order { variables: told.variables, secrets: told.secrets, ..order_message(order, params) })
    }

    async fn params(&self, order: &Order) -> Result<Vec<u8>, String> {
        let Some(id) = order.params else { return Ok(Vec::new()) };
        let tasks = self.link.tasks.clone();
        let read = tokio::task::spawn_blocking(move || tasks.content(id)).await.expect("a read does not panic");
        read.map(|body| body.to_vec()).map_err(|error| error.to_string())
    }

    /// An order that never left is a report we write ourselves.
    fn refuse(&self, order: &Order, verdict: Verdict, error: &str) {
        tracing::error!(attempt = %order.attempt, %error, "an order cannot be sent; it is refused");
        let outcome = Outcome::of(verdict, error, self.link.clock.now());
        let kind = ReportKind::Ended(Box::new(outcome));
        let report = Report { attempt: order.attempt, seq: u32::MAX, kind };
        self.link.shards.tell(order.shard, Input::Report { agent: order.agent, report });
    }
}

/// An order as it travels.
pub fn order_message(order: &Order, params: Vec<u8>) -> link::Order {
    link::Order {
        shard: order.shard.0 as u32,
        term: order.term.0,
        attempt: order.attempt.0,
        fence: order.fence,
        attempt_no: order.attempt_no,
        instance: order.instance.0,
        version: order.version.0,
        planned: order.planned.0,
        index: order.part.index().unwrap_or(0),
        total: order.part.total,
        start_by: order.start_by.0,
        timeout_us: order.timeout.map(|span| span.0),
        stop_grace_us: order.stop_grace.0,
        leash_us: order.leash.map(|span| span.0),
        params: params.into(),
        // What its task names is added where it is sent.
        variables: Default::default(),
        secrets: Default::default(),
        private_networks: None,
    }
}
