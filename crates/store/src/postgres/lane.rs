//! A connection driven by whoever uses it: each lane has a small runtime of its own, so that a caller's thread does the
//! sending and receiving itself. Connects when it is needed, and again after a loss.

use std::time::Duration;

use tokio::runtime::{Builder, Handle, Runtime};

use super::address::Door;
use super::conn::Conn;
use super::error::Fault;
use crate::StoreError;

pub(super) struct Lane {
    runtime: Engine,
    door: Door,
    /// Sent to a fresh connection.
    settings: &'static str,
    conn: Option<Conn>,
}

impl Lane {
    pub(super) fn new(door: Door, settings: &'static str) -> Result<Lane, StoreError> {
        Ok(Lane { runtime: runtime()?, door, settings, conn: None })
    }

    pub(super) fn door(&self) -> &Door {
        &self.door
    }

    pub(super) fn is_connected(&self) -> bool {
        self.conn.is_some()
    }

    pub(super) fn hang_up(&mut self) {
        self.conn = None;
    }

    /// Connects, if it is not. By itself, so that on a slow way the first call has the same time as any other.
    pub(super) fn ready(&mut self, patience: Duration) -> Result<(), Fault> {
        let Lane { runtime, door, settings, conn } = self;
        if conn.as_ref().is_some_and(|conn| !conn.is_closed()) {
            return Ok(());
        }
        *conn = None;
        let made = drive(runtime, async { tokio::time::timeout(patience, door.connect(settings)).await });
        let late = || Fault::Lost(format!("no connection to {door} within {} s", patience.as_secs_f32()));
        *conn = Some(made.map_err(|_| late())??);
        Ok(())
    }

    /// The connection itself, for several calls that must be on the same one.
    pub(super) fn held(&mut self, patience: Duration) -> Result<Held<'_>, Fault> {
        self.ready(patience)?;
        let conn = self.conn.as_ref().expect("just connected");
        Ok(Held { runtime: &self.runtime, conn, patience })
    }

    /// Runs `work` once, within `patience`; a connection that proves bad is dropped.
    pub(super) fn once<T>(
        &mut self,
        patience: Duration,
        work: impl AsyncFnOnce(&Conn) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let Lane { runtime, door, settings, conn } = self;
        let done = drive(runtime, async {
            let work = async {
                if conn.as_ref().is_none_or(Conn::is_closed) {
                    *conn = None;
                    *conn = Some(door.connect(settings).await?);
                }
                work(conn.as_ref().expect("just connected")).await
            };
            match tokio::time::timeout(patience, work).await {
                Ok(done) => done,
                Err(_) => Err(Fault::Lost(format!("no answer from {door} within {} s", patience.as_secs_f32()))),
            }
        });
        if done.as_ref().is_err_and(Fault::spoils_connection) {
            self.conn = None;
        }
        done
    }

    /// The same, for work that may be repeated: a connection that died while nobody used it is found out by using it.
    pub(super) fn again<T>(
        &mut self,
        patience: Duration,
        work: impl AsyncFn(&Conn) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let was_connected = self.conn.is_some();
        match self.once(patience, &work) {
            Err(Fault::Lost(_)) if was_connected => self.once(patience, &work),
            done => done,
        }
    }
}

/// One connection, for as long as it is held.
pub(super) struct Held<'l> {
    runtime: &'l Runtime,
    conn: &'l Conn,
    patience: Duration,
}

impl Held<'_> {
    pub(super) fn call<T>(&self, work: impl AsyncFnOnce(&Conn) -> Result<T, Fault>) -> Result<T, Fault> {
        let patience = self.patience;
        let done = drive(self.runtime, async { tokio::time::timeout(patience, work(self.conn)).await });
        done.unwrap_or_else(|_| Err(Fault::Lost(format!("no answer within {} s", patience.as_secs_f32()))))
    }

    pub(super) fn batch(&self, text: &str) -> Result<(), Fault> {
        self.call(async |conn: &Conn| conn.batch(text).await)
    }
}

/// A runtime that may be dropped anywhere, also by a task of another runtime.
pub(super) struct Engine(Option<Runtime>);

impl std::ops::Deref for Engine {
    type Target = Runtime;

    fn deref(&self) -> &Runtime {
        self.0.as_ref().expect("there until it is dropped")
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

pub(super) fn runtime() -> Result<Engine, StoreError> {
    let built = Builder::new_current_thread().enable_all().build();
    built
        .map(|runtime| Engine(Some(runtime)))
        .map_err(|error| StoreError::Failed(format!("cannot start a runtime: {error}")))
}

/// Callers may themselves be tasks of another runtime, at a start for instance.
pub(super) fn drive<T>(runtime: &Runtime, work: impl Future<Output = T>) -> T {
    if Handle::try_current().is_ok() {
        tokio::task::block_in_place(|| runtime.block_on(work))
    } else {
        runtime.block_on(work)
    }
}
