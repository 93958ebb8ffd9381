//! An executor that runs nothing: it says at once (or after a while, if told so) that it has a run, and calls results back
//! in batches as the SDKs do, whatever has gathered while the last batch was under way.

use std::collections::HashSet;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use super::http::{Call, Line, number};
use super::{APP, STUB, write};
use crate::measure;
use crate::runs::quantile;

/// As often as most SDKs do.
const BEAT_EVERY: Duration = Duration::from_secs(10);
/// Results of one call.
const BATCH_MAX: usize = 1_000;

/// A run that came.
#[derive(Clone, Copy)]
struct Run {
    id: i64,
    planned: i64,
    at: i64,
}

type Runs = Arc<Mutex<Vec<Run>>>;

pub(crate) fn run(dir: &Path, admin: &str, ack: Duration) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(serve(dir, admin.trim_start_matches("http://").to_string(), ack))
}

async fn serve(dir: &Path, admin: String, ack: Duration) -> anyhow::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?.to_string();
    let runs = Runs::default();
    let (ended, results) = mpsc::unbounded_channel();
    tokio::spawn(beat(admin.clone(), address.clone()));
    tokio::spawn(call_back(admin, results));
    write(dir, STUB, &address)?;
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(listen(stream, Arc::clone(&runs), ended.clone(), ack));
    }
}

async fn listen(
    stream: TcpStream,
    runs: Runs,
    ended: mpsc::UnboundedSender<i64>,
    ack: Duration,
) -> std::io::Result<()> {
    let mut line = Line::new(stream);
    while let Some(call) = line.next().await? {
        if call.path.starts_with("/stats") {
            let stats = stats(&runs.lock().expect("nobody panics holding it"), &call.path);
            line.answer(&stats).await?;
            continue;
        }
        let run = taken(&call);
        if !ack.is_zero() {
            tokio::time::sleep(ack).await;
        }
        line.answer(r#"{"code":200}"#).await?;
        if let Some(run) = run {
            runs.lock().expect("nobody panics holding it").push(run);
            let _ = ended.send(run.id);
        }
    }
    Ok(())
}

fn taken(call: &Call) -> Option<Run> {
    if call.path != "/run" {
        return None;
    }
    let planned = number(&call.body, "logDateTime")? * 1_000;
    Some(Run { id: number(&call.body, "logId")?, planned, at: measure::now_us() })
}

/// Results that could not be called back are kept and called back later.
async fn call_back(admin: String, mut results: mpsc::UnboundedReceiver<i64>) {
    let mut line = None;
    let mut batch = Vec::with_capacity(BATCH_MAX);
    while results.recv_many(&mut batch, BATCH_MAX).await > 0 {
        let item = |id: &i64| format!(r#"{{"logId":{id},"logDateTim":0,"handleCode":200,"handleMsg":"ok"}}"#);
        let body = format!("[{}]", batch.iter().map(item).collect::<Vec<_>>().join(","));
        while !said(&mut line, &admin, "/api/callback", &body).await {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        batch.clear();
    }
}

async fn beat(admin: String, address: String) {
    let body = json!({"registryGroup": "EXECUTOR", "registryKey": APP, "registryValue": format!("http://{address}/")});
    let body = body.to_string();
    loop {
        let taken = said(&mut None, &admin, "/api/registry", &body).await;
        tokio::time::sleep(if taken { BEAT_EVERY } else { Duration::from_millis(200) }).await;
    }
}

async fn said(line: &mut Option<Line>, admin: &str, path: &str, body: &str) -> bool {
    if line.is_none() {
        *line = Line::dial(admin).await.ok();
    }
    let Some(open) = line else { return false };
    match open.post(path, body).await {
        Ok(answer) => number(&answer, "code") == Some(200),
        Err(_) => {
            *line = None;
            false
        }
    }
}

/// `/stats?FROM&UNTIL`, in microseconds of the planned time.
fn stats(runs: &[Run], path: &str) -> String {
    let mut bounds = path.split(['?', '&']).skip(1).filter_map(|bound| bound.parse::<i64>().ok());
    let (from, until) = (bounds.next().unwrap_or(i64::MIN), bounds.next().unwrap_or(i64::MAX));
    let of_window: Vec<&Run> = runs.iter().filter(|run| (from..until).contains(&run.planned)).collect();
    let distinct: HashSet<i64> = of_window.iter().map(|run| run.id).collect();
    let mut late: Vec<f64> = of_window.iter().map(|run| (run.at - run.planned) as f64).collect();
    late.sort_by(f64::total_cmp);
    let at = |share: f64| Some(quantile(&late, share)).filter(|value| value.is_finite()).unwrap_or(-1.0);
    json!({
        "runs": distinct.len(),
        "doubled": of_window.len() - distinct.len(),
        "p50": at(0.5),
        "p99": at(0.99),
        "last_at": of_window.iter().map(|run| run.at).max().unwrap_or(0),
    })
    .to_string()
}
