//! The way to one executor: what waits to be sent to it, and the connections it is sent over. There are as many of these
//! as its answers are slow, up to a bound, so that it delays only itself.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use engine::Order;
use model::{AgentId, AttemptId, Span, Timestamp};
use parking_lot::Mutex;
use tokio::sync::Notify;
use wire::xxl::{Address, Dialect};

use super::connection::{CallError, Connection, Way, call};
use super::evidence::Restart;
use super::http::{Headers, Response, request};

/// Connections to one executor.
const CONNECTIONS_MAX: usize = 64;
/// A connection nothing was sent over for this long is closed.
const QUIET_MAX: Duration = Duration::from_secs(15);
/// How long it may take to answer a question.
pub(super) const ANSWER_WITHIN: Duration = Duration::from_secs(3);

pub(super) struct Line {
    pub id: AgentId,
    pub address: Address,
    way: Way,
    state: Mutex<State>,
    wake: Notify,
}

#[derive(Default)]
struct State {
    headers: Arc<Headers>,
    waiting: VecDeque<Order>,
    /// Sent, or being sent, and not answered yet.
    under_way: HashSet<AttemptId>,
    workers: usize,
    resting: usize,
    dialect: Dialect,
    /// Nobody listened at its address when it was called last, and that was then.
    refused_at: Option<Timestamp>,
    /// A loop that tries to reach it is under way.
    probing: bool,
    restart: Option<Restart>,
    /// Since when it says idle about what it should have.
    idle_since: HashMap<AttemptId, Timestamp>,
    /// It said so about what it did have.
    is_liar: bool,
    /// It is being asked about what it has.
    inspecting: bool,
    /// The job it was asked about last.
    asked_last: i32,
}

impl Line {
    pub(super) fn new(id: AgentId, address: Address, way: Way, headers: Headers, dialect: Dialect) -> Line {
        let state = State { headers: Arc::new(headers), dialect, ..State::default() };
        Line { id, address, way, state: Mutex::new(state), wake: Notify::new() }
    }

    /// Puts orders in line; true for each worker that has to be started for them.
    pub(super) fn push(&self, orders: Vec<Order>) -> usize {
        let mut state = self.state.lock();
        let more = orders.len();
        state.waiting.extend(orders);
        let wanted = state.waiting.len().saturating_sub(state.resting);
        let fresh = wanted.min(CONNECTIONS_MAX - state.workers);
        state.workers += fresh;
        let woken = state.resting.min(more);
        drop(state);
        for _ in 0..woken {
            self.wake.notify_one();
        }
        fresh
    }

    /// The next in line; none when it has been quiet for long enough: then the worker is gone.
    pub(super) async fn next(&self) -> Option<Order> {
        loop {
            {
                let mut state = self.state.lock();
                if let Some(order) = state.waiting.pop_front() {
                    state.under_way.insert(order.attempt);
                    return Some(order);
                }
                state.resting += 1;
            }
            let woken = tokio::time::timeout(QUIET_MAX, self.wake.notified()).await;
            let mut state = self.state.lock();
            state.resting -= 1;
            if woken.is_err() && state.waiting.is_empty() {
                state.workers -= 1;
                return None;
            }
        }
    }

    /// Its fate is known, as far as it ever will be from its answer.
    pub(super) fn answered(&self, attempt: AttemptId) {
        self.state.lock().under_way.remove(&attempt);
    }

    /// Nothing can be said about it by other signs while this is so.
    pub(super) fn is_under_way(&self, attempt: AttemptId) -> bool {
        let state = self.state.lock();
        state.under_way.contains(&attempt) || state.waiting.iter().any(|order| order.attempt == attempt)
    }

    /// Takes an order out of the line that nobody has begun to send.
    pub(super) fn take_back(&self, attempt: AttemptId) -> Option<Order> {
        let mut state = self.state.lock();
        let at = state.waiting.iter().position(|order| order.attempt == attempt)?;
        state.waiting.remove(at)
    }

    /// Everything that waits, because it cannot be sent.
    pub(super) fn take_all(&self) -> Vec<Order> {
        self.state.lock().waiting.drain(..).collect()
    }

    /// What it is shown from now on.
    pub(super) fn show(&self, headers: Headers) {
        let mut state = self.state.lock();
        if *state.headers != headers {
            state.headers = Arc::new(headers);
        }
    }

    pub(super) fn shows(&self, token: &str) -> bool {
        self.state.lock().headers.token == token
    }

    fn headers(&self) -> Arc<Headers> {
        Arc::clone(&self.state.lock().headers)
    }

    pub(super) fn dialect(&self) -> Dialect {
        self.state.lock().dialect
    }

    pub(super) fn speak(&self, dialect: Dialect) {
        self.state.lock().dialect = dialect;
    }

    /// A call did not get through. True: somebody should try until one does.
    pub(super) fn lost(&self, refused: bool, now: Timestamp) -> bool {
        let mut state = self.state.lock();
        if refused {
            state.refused_at = Some(now);
        }
        !std::mem::replace(&mut state.probing, true)
    }

    pub(super) fn stop_probing(&self) {
        self.state.lock().probing = false;
    }

    /// It is there again. Where nobody listened, another process does now.
    pub(super) fn found(&self, now: Timestamp) {
        let mut state = self.state.lock();
        if let Some(gone) = state.refused_at.take() {
            state.restart = Some(Restart { gone, back: now });
        }
    }

    /// Another server found nobody there, and somebody is there now.
    pub(super) fn restarted(&self, heard: Restart) {
        let mut state = self.state.lock();
        if state.restart.is_none_or(|known| known.gone < heard.gone) {
            state.restart = Some(heard);
        }
    }

    pub(super) fn restart(&self) -> Option<Restart> {
        self.state.lock().restart
    }

    /// Since when it has said idle about this attempt; a word for busy forgets it.
    pub(super) fn idle_since(&self, attempt: AttemptId, idle: bool, now: Timestamp) -> Option<Timestamp> {
        let mut state = self.state.lock();
        if idle {
            return Some(*state.idle_since.entry(attempt).or_insert(now));
        }
        state.idle_since.remove(&attempt);
        None
    }

    /// A result came for this attempt. An executor that has said idle about it for so long was lying.
    pub(super) fn told(&self, attempt: AttemptId, now: Timestamp, guard: Span) {
        let mut state = self.state.lock();
        if let Some(since) = state.idle_since.remove(&attempt) {
            state.is_liar |= now - since >= guard;
        }
    }

    pub(super) fn is_liar(&self) -> bool {
        self.state.lock().is_liar
    }

    pub(super) fn doubts_nothing(&self) -> bool {
        self.state.lock().idle_since.is_empty()
    }

    /// Only these are still of interest.
    pub(super) fn retain_idle(&self, open: &HashSet<AttemptId>) {
        self.state.lock().idle_since.retain(|attempt, _| open.contains(attempt));
    }

    pub(super) fn begin_inspection(&self) -> bool {
        !std::mem::replace(&mut self.state.lock().inspecting, true)
    }

    pub(super) fn asked_last(&self) -> i32 {
        self.state.lock().asked_last
    }

    pub(super) fn set_asked_last(&self, alias: i32) {
        self.state.lock().asked_last = alias;
    }

    pub(super) fn end_inspection(&self) {
        self.state.lock().inspecting = false;
    }

    /// A question, over a connection of its own: it waits for no run and no run waits for it.
    pub(super) async fn ask(&self, what: &str, body: &str) -> Result<Response, CallError> {
        let request = request(&self.address, what, &self.headers(), body);
        call(&mut None, &self.address, &self.way, &request, ANSWER_WITHIN).await
    }

    /// A call that must not be repeated.
    pub(super) async fn call_once(
        &self,
        kept: &mut Option<Connection>,
        what: &str,
        body: &str,
        within: Duration,
    ) -> Result<Response, CallError> {
        let request = request(&self.address, what, &self.headers(), body);
        call(kept, &self.address, &self.way, &request, within).await
    }
}

pub(super) type Lines = HashMap<AgentId, Arc<Line>>;
