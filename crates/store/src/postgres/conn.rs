//! One connection with the statements prepared on it. Made again by whoever finds it dead.

use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::task::Poll;

use futures::future::maybe_done;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row, Statement};

use super::error::Fault;

/// A day brings statements of its own, and days pass.
const STATEMENTS_MAX: usize = 400;

pub(super) type Value<'v> = Box<dyn ToSql + Sync + Send + 'v>;

pub(super) struct Conn {
    client: Client,
    statements: Mutex<FxHashMap<Arc<str>, Statement>>,
}

/// A statement with its values, and how many rows it must touch.
pub(super) struct Call<'v> {
    pub text: Arc<str>,
    pub values: Vec<Value<'v>>,
    pub expects: Expects,
}

pub(super) enum Expects {
    Any,
    Rows(usize, String),
    /// A row of each shard; one that is missing means that another owner has it.
    Ownership(usize),
}

impl Conn {
    pub(super) fn new(client: Client) -> Conn {
        Conn { client, statements: Mutex::default() }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    async fn prepared(&self, text: &str) -> Result<Statement, Fault> {
        if let Some(known) = self.statements.lock().get(text) {
            return Ok(known.clone());
        }
        let statement = self.client.prepare(text).await?;
        let mut statements = self.statements.lock();
        if statements.len() >= STATEMENTS_MAX {
            statements.clear();
        }
        statements.insert(text.into(), statement.clone());
        Ok(statement)
    }

    /// For what has no values and no rows: several statements at once.
    pub(super) async fn batch(&self, text: &str) -> Result<(), Fault> {
        Ok(self.client.batch_execute(text).await?)
    }

    /// As `batch`, with the driver's own error: at a commit it decides whether the outcome is known.
    pub(super) async fn commit(&self) -> Result<(), tokio_postgres::Error> {
        self.client.batch_execute("commit").await
    }

    pub(super) async fn execute(&self, text: &str, values: &[&(dyn ToSql + Sync)]) -> Result<u64, Fault> {
        let statement = self.prepared(text).await?;
        Ok(self.client.execute(&statement, values).await?)
    }

    pub(super) async fn query(&self, text: &str, values: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, Fault> {
        let statement = self.prepared(text).await?;
        Ok(self.client.query(&statement, values).await?)
    }

    /// As `query`, for what means something else each time it is said.
    pub(super) async fn query_fresh(&self, text: &str) -> Result<Vec<Row>, Fault> {
        Ok(self.client.query(text, &[]).await?)
    }

    pub(super) async fn first(&self, text: &str, values: &[&(dyn ToSql + Sync)]) -> Result<Option<Row>, Fault> {
        Ok(self.query(text, values).await?.into_iter().next())
    }

    /// Sends all of them without waiting in between; the first that fails is the fault.
    pub(super) async fn run(&self, calls: &[Call<'_>]) -> Result<(), Fault> {
        let mut under_way = Vec::with_capacity(calls.len());
        for call in calls {
            let statement = self.prepared(&call.text).await?;
            under_way.push(async move {
                let values: Vec<_> = call.values.iter().map(|value| &**value as &(dyn ToSql + Sync)).collect();
                self.client.execute(&statement, &values).await
            });
        }
        for (rows, call) in in_order(under_way).await.into_iter().zip(calls) {
            call.expects.check(rows?)?;
        }
        Ok(())
    }
}

impl<'v> Call<'v> {
    pub(super) fn new(text: impl Into<Arc<str>>, values: Vec<Value<'v>>, expects: Expects) -> Call<'v> {
        Call { text: text.into(), values, expects }
    }
}

impl Expects {
    fn check(&self, rows: u64) -> Result<(), Fault> {
        match self {
            Expects::Any => Ok(()),
            Expects::Rows(wanted, _) if rows == *wanted as u64 => Ok(()),
            Expects::Rows(_, otherwise) => Err(Fault::Impossible(otherwise.clone())),
            Expects::Ownership(shards) if rows == *shards as u64 => Ok(()),
            Expects::Ownership(_) => Err(Fault::NotOwner),
        }
    }
}

/// Each begins before the next, none waits for another: a request goes out when its future is polled first.
async fn in_order<F: Future>(all: Vec<F>) -> Vec<F::Output> {
    let mut all: Vec<_> = all.into_iter().map(|one| Box::pin(maybe_done(one))).collect();
    poll_fn(|context| {
        let mut done = true;
        for one in &mut all {
            done &= one.as_mut().poll(context).is_ready();
        }
        if done { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    all.iter_mut().map(|one| one.as_mut().take_output().expect("all of them are done")).collect()
}
