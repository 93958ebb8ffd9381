//! The bare admin: a generator, one SQLite writer thread, the executor's own calls, and callbacks answered after their
//! commit.

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, unbounded};
use rusqlite::{Connection, params};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};

use super::http::Line;
use super::{BARE, write};
use crate::floor::Load;
use crate::floor::writer::{INSERT, SCHEMA, UPDATE, connect};
use crate::{measure, short_slice};

/// Connections to the executor, as many as the product opens when answers are quick.
const CONNECTIONS: usize = 16;
const ROWS_MAX: usize = 2_000;
const SECOND: i64 = 1_000_000;

enum Word {
    Due(Vec<(i64, i64)>),
    Ended(Vec<i64>, oneshot::Sender<()>),
}

struct Order {
    id: i64,
    job: i64,
    planned: i64,
}

pub(crate) fn run(dir: &Path, load: Load) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let (words, received) = unbounded();
    let (orders, waiting) = mpsc::unbounded_channel();
    let executor: Arc<OnceLock<String>> = Arc::default();
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
    let url = format!("http://{}", listener.local_addr()?);
    runtime.spawn(serve(listener, words.clone(), Arc::clone(&executor)));
    write(dir, BARE, &url)?;
    measure::wait_for("an executor", Duration::from_secs(30), || Ok(executor.get().is_some()))?;
    let waiting = Arc::new(tokio::sync::Mutex::new(waiting));
    for _ in 0..CONNECTIONS {
        let address = executor.get().cloned().unwrap_or_default();
        runtime.spawn(send(address, Arc::clone(&waiting)));
    }
    let again = matches!(load, Load::Saturate { .. });
    let database = dir.join(crate::floor::FILE);
    std::thread::Builder::new().name("bare-due".into()).spawn(move || generate(load, &words))?;
    write_all(&database, &received, &orders, again)
}

fn generate(load: Load, words: &Sender<Word>) {
    let say = |runs: Vec<(i64, i64)>| words.send(Word::Due(runs)).is_ok();
    match load {
        Load::Saturate { jobs } => {
            let now = measure::now_us();
            say((0..i64::from(jobs)).map(|job| (job, now)).collect());
            std::thread::park();
        }
        Load::Aligned { per_second } | Load::Spread { per_second } => {
            let mut at = (measure::now_us() / SECOND + 1) * SECOND;
            loop {
                std::thread::sleep(Duration::from_micros((at - measure::now_us()).max(0) as u64));
                if !say((0..i64::from(per_second)).map(|job| (job, at)).collect()) {
                    return;
                }
                at += SECOND;
            }
        }
        Load::Burst { .. } => {}
    }
}

/// What gathered while the last commit was under way is the next; calls and answers leave after it.
fn write_all(
    database: &Path,
    words: &Receiver<Word>,
    orders: &mpsc::UnboundedSender<Order>,
    again: bool,
) -> anyhow::Result<()> {
    short_slice::ask();
    let conn = connect(database)?;
    conn.execute_batch(SCHEMA)?;
    conn.pragma_update(None, "wal_autocheckpoint", 4_000)?;
    let mut jobs: std::collections::HashMap<i64, i64> = std::collections::HashMap::new();
    let (mut next, mut due, mut ended, mut callers) = (1, Vec::new(), Vec::new(), Vec::new());
    loop {
        let mut word = if due.is_empty() { words.recv().ok() } else { words.try_recv().ok() };
        while let Some(one) = word {
            match one {
                Word::Due(runs) => due.extend(runs),
                Word::Ended(ids, caller) => {
                    ended.extend(ids);
                    callers.push(caller);
                }
            }
            word = if due.len() + ended.len() < ROWS_MAX { words.try_recv().ok() } else { None };
        }
        let later = due.split_off(due.len().min(ROWS_MAX));
        let now = commit(&conn, next, &due, &ended)?;
        for (job, planned) in due.drain(..) {
            jobs.insert(next, job);
            let _ = orders.send(Order { id: next, job, planned });
            next += 1;
        }
        due = later;
        for id in ended.drain(..) {
            let job = jobs.remove(&id);
            due.extend(job.filter(|_| again).map(|job| (job, now)));
        }
        for caller in callers.drain(..) {
            let _ = caller.send(());
        }
    }
}

fn commit(conn: &Connection, first: i64, due: &[(i64, i64)], ended: &[i64]) -> rusqlite::Result<i64> {
    let now = measure::now_us();
    conn.prepare_cached("begin immediate")?.execute([])?;
    let mut insert = conn.prepare_cached(INSERT)?;
    for (id, (job, planned)) in (first..).zip(due) {
        // Jobs that are due again at once may be due twice in one microsecond.
        let _ = insert.execute(params![id, job, planned, now]);
    }
    let mut update = conn.prepare_cached(UPDATE)?;
    for id in ended {
        update.execute(params![id, now, now, 1, 200])?;
    }
    conn.prepare_cached("commit")?.execute([])?;
    Ok(now)
}

async fn send(address: String, orders: Arc<tokio::sync::Mutex<mpsc::UnboundedReceiver<Order>>>) -> std::io::Result<()> {
    let mut line = Line::dial(&address).await?;
    loop {
        let Some(order) = orders.lock().await.recv().await else { return Ok(()) };
        let body = format!(
            r#"{{"jobId":{},"executorHandler":"bench","executorParams":"","executorBlockStrategy":"SERIAL_EXECUTION","executorTimeout":0,"logId":{},"logDateTime":{},"glueType":"BEAN","glueSource":"","glueUpdatetime":0,"broadcastIndex":0,"broadcastTotal":1}}"#,
            order.job,
            order.id,
            order.planned / 1_000,
        );
        line.post("/run", &body).await?;
    }
}

async fn serve(listener: TcpListener, words: Sender<Word>, executor: Arc<OnceLock<String>>) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(listen(stream, words.clone(), Arc::clone(&executor)));
    }
}

async fn listen(stream: TcpStream, words: Sender<Word>, executor: Arc<OnceLock<String>>) -> std::io::Result<()> {
    let mut line = Line::new(stream);
    while let Some(call) = line.next().await? {
        let body: serde_json::Value = serde_json::from_slice(&call.body).unwrap_or_default();
        match body.as_array() {
            None => {
                let address = body["registryValue"].as_str().unwrap_or_default();
                let _ = executor.set(address.trim_start_matches("http://").trim_end_matches('/').to_string());
            }
            Some(items) => {
                let ids = items.iter().filter_map(|item| item["logId"].as_i64()).collect();
                let (caller, committed) = oneshot::channel();
                let _ = words.send(Word::Ended(ids, caller));
                let _ = committed.await;
            }
        }
        line.answer(r#"{"code":200,"msg":null,"content":null,"data":null}"#).await?;
    }
    Ok(())
}
