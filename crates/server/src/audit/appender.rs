//! The thread that writes the audit. Whatever waits is written in one transaction; what nobody waits for may wait a
//! moment for company. When the store cannot write, whoever wants to begin is refused, and what was done already is
//! written as soon as it can.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, TryRecvError};
use model::audit::Mark;
use parking_lot::Mutex;
use store::audit::{AuditLog, Begun, Draft, Writing};
use tokio::sync::oneshot;

/// How long an entry that nobody waits for may wait.
const SOON: Duration = Duration::from_millis(100);
/// Orders that are written together.
const TOGETHER_MAX: usize = 2_000;
/// Orders that may wait before changes are refused.
const WAITING_MAX: usize = 20_000;
const TRY_AGAIN: Duration = Duration::from_millis(200);

pub(super) enum Order {
    Begin(Begun, oneshot::Sender<Result<(), String>>),
    Write(Write),
    Close(oneshot::Sender<()>),
}

#[derive(Default)]
pub(super) struct Write {
    pub(super) entries: Vec<Draft>,
    pub(super) settled: Vec<String>,
    pub(super) drop_until: Option<Mark>,
    /// Somebody waits for it.
    pub(super) told: Option<oneshot::Sender<()>>,
}

pub(super) struct Appender {
    orders: Sender<Order>,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    /// Why the last write failed, until one succeeds.
    trouble: Mutex<Option<String>>,
    closing: AtomicBool,
}

impl Appender {
    pub(super) fn start(log: Box<dyn AuditLog>) -> std::io::Result<Appender> {
        let (orders, received) = crossbeam_channel::unbounded();
        let shared = Arc::new(Shared::default());
        let theirs = Arc::clone(&shared);
        std::thread::Builder::new().name("duly-audit".into()).spawn(move || run(log, &received, &theirs))?;
        Ok(Appender { orders, shared })
    }

    /// Whoever is gone with the thread is told so by its end of the channel.
    pub(super) fn order(&self, order: Order) {
        if matches!(order, Order::Close(_)) {
            self.shared.closing.store(true, Ordering::Relaxed);
        }
        let _ = self.orders.send(order);
    }

    pub(super) fn trouble(&self) -> Option<String> {
        if self.orders.len() > WAITING_MAX {
            return Some("too much waits to be written".into());
        }
        self.shared.trouble.lock().clone()
    }
}

fn run(mut log: Box<dyn AuditLog>, orders: &Receiver<Order>, shared: &Shared) {
    while let Ok(first) = orders.recv() {
        let mut gathered = Gathered::default();
        gathered.take(first);
        gather(&mut gathered, orders);
        gathered.write(&mut *log, shared);
        if let Some(told) = gathered.close {
            let _ = told.send(());
            return;
        }
    }
}

fn gather(gathered: &mut Gathered, orders: &Receiver<Order>) {
    let until = Instant::now() + SOON;
    while !gathered.is_awaited && gathered.count < TOGETHER_MAX {
        match orders.recv_deadline(until) {
            Ok(order) => gathered.take(order),
            Err(_) => break,
        }
    }
    while gathered.count < TOGETHER_MAX {
        match orders.try_recv() {
            Ok(order) => gathered.take(order),
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => break,
        }
    }
}

/// Orders that are written together.
#[derive(Default)]
struct Gathered {
    writing: Writing,
    begun: Vec<oneshot::Sender<Result<(), String>>>,
    written: Vec<oneshot::Sender<()>>,
    close: Option<oneshot::Sender<()>>,
    is_awaited: bool,
    count: usize,
}

impl Gathered {
    fn take(&mut self, order: Order) {
        self.count += 1;
        match order {
            Order::Begin(begun, told) => {
                self.is_awaited = true;
                self.writing.begun.push(begun);
                self.begun.push(told);
            }
            Order::Write(write) => {
                self.is_awaited |= write.told.is_some();
                self.writing.entries.extend(write.entries);
                self.writing.settled.extend(write.settled);
                self.writing.drop_until = write.drop_until.or(self.writing.drop_until);
                self.written.extend(write.told);
            }
            Order::Close(told) => {
                self.is_awaited = true;
                self.close = Some(told);
            }
        }
    }

    fn write(&mut self, log: &mut dyn AuditLog, shared: &Shared) {
        if let Err(error) = log.write(&self.writing) {
            tracing::error!(%error, "the audit cannot be written; nothing is changed until it can");
            let why = error.to_string();
            *shared.trouble.lock() = Some(why.clone());
            // Who is refused has begun nothing. It is written and taken back, so that it is known when it could be.
            self.writing.settled.extend(self.writing.begun.iter().map(|begun| begun.id.clone()));
            for told in self.begun.drain(..) {
                let _ = told.send(Err(why.clone()));
            }
            self.write_at_last(log, shared);
        }
        for told in self.begun.drain(..) {
            let _ = told.send(Ok(()));
        }
        for told in self.written.drain(..) {
            let _ = told.send(());
        }
    }

    fn write_at_last(&mut self, log: &mut dyn AuditLog, shared: &Shared) {
        loop {
            std::thread::sleep(TRY_AGAIN);
            match log.write(&self.writing) {
                Ok(()) => {
                    tracing::info!("the audit can be written again");
                    *shared.trouble.lock() = None;
                    return;
                }
                Err(error) if shared.closing.load(Ordering::Relaxed) => {
                    let entries = self.writing.entries.len();
                    tracing::error!(%error, entries, "entries of the audit are lost: the server stops and cannot write them");
                    return;
                }
                Err(error) => *shared.trouble.lock() = Some(error.to_string()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use store::StoreError;
    use store::audit::{AuditFilter, Recorded};

    use super::*;

    /// Remembers what it was told to write, and refuses while it is told to.
    #[derive(Clone, Default)]
    struct Told {
        writings: Arc<Mutex<Vec<(usize, usize, usize)>>>,
        refuses: Arc<AtomicBool>,
        /// A write has come in.
        entered: Arc<AtomicBool>,
        busy: Arc<Mutex<()>>,
    }

    impl AuditLog for Told {
        fn write(&mut self, writing: &Writing) -> Result<(), StoreError> {
            self.entered.store(true, Ordering::SeqCst);
            let _turn = self.busy.lock();
            if self.refuses.load(Ordering::Relaxed) {
                return Err(StoreError::Busy("the disk is full".into()));
            }
            self.writings.lock().push((writing.begun.len(), writing.settled.len(), writing.entries.len()));
            Ok(())
        }

        fn ends(&mut self) -> Result<(Mark, Mark), StoreError> {
            unreachable!("only written to")
        }

        fn after(&mut self, _: i64, _: usize) -> Result<Vec<Recorded>, StoreError> {
            unreachable!("only written to")
        }

        fn list(&mut self, _: &AuditFilter) -> Result<Vec<Recorded>, StoreError> {
            unreachable!("only written to")
        }

        fn begun(&mut self, _: model::Timestamp, _: usize) -> Result<Vec<Begun>, StoreError> {
            unreachable!("only written to")
        }

        fn older_than(&mut self, _: model::Timestamp) -> Result<Option<Mark>, StoreError> {
            unreachable!("only written to")
        }

        fn sweep(&mut self, _: u32) -> Result<bool, StoreError> {
            unreachable!("only written to")
        }
    }

    fn begin(id: &str) -> (Order, oneshot::Receiver<Result<(), String>>) {
        let (told, answer) = oneshot::channel();
        let begun = Begun { id: id.into(), at: model::Timestamp(0), text: "{}".into() };
        (Order::Begin(begun, told), answer)
    }

    fn write() -> Write {
        let label = store::audit::Label {
            at: model::Timestamp(0),
            tenant: None,
            actor: None,
            operation: "job_pause".into(),
            outcome: "done".into(),
        };
        Write { entries: vec![Draft { label, about: Vec::new(), text: "{}".into() }], ..Write::default() }
    }

    fn awaited() -> (Order, oneshot::Receiver<()>) {
        let (told, answer) = oneshot::channel();
        (Order::Write(Write { told: Some(told), ..write() }), answer)
    }

    #[test]
    fn what_waits_together_is_written_together() {
        let log = Told::default();
        let appender = Appender::start(Box::new(log.clone())).unwrap();
        let turn = log.busy.lock();
        let (first, first_written) = awaited();
        appender.order(first);
        // The first is under way; all of these wait for the store.
        while !log.entered.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        let (began, begun) = begin("a");
        appender.order(began);
        (0..50).for_each(|_| appender.order(Order::Write(write())));
        drop(turn);
        first_written.blocking_recv().unwrap();
        begun.blocking_recv().unwrap().unwrap();
        assert_eq!(*log.writings.lock(), [(0, 0, 1), (1, 0, 50)]);
    }

    #[test]
    fn nothing_begins_while_the_audit_cannot_be_written_and_what_was_done_is_written_later() {
        let log = Told::default();
        log.refuses.store(true, Ordering::Relaxed);
        let appender = Appender::start(Box::new(log.clone())).unwrap();
        let (began, begun) = begin("a");
        appender.order(began);
        let refused = begun.blocking_recv().unwrap().unwrap_err();
        assert!(refused.contains("the disk is full") && appender.trouble().is_some());
        let (done, written) = awaited();
        appender.order(done);
        log.refuses.store(false, Ordering::Relaxed);
        written.blocking_recv().unwrap();
        assert_eq!(appender.trouble(), None);
        assert_eq!(*log.writings.lock(), [(1, 1, 0), (0, 0, 1)], "what was refused is not left as begun");
    }

    #[test]
    fn a_close_writes_what_is_left() {
        let log = Told::default();
        let appender = Appender::start(Box::new(log.clone())).unwrap();
        appender.order(Order::Write(write()));
        let (told, closed) = oneshot::channel();
        appender.order(Order::Close(told));
        closed.blocking_recv().unwrap();
        assert_eq!(log.writings.lock().iter().map(|one| one.2).sum::<usize>(), 1);
    }
}
