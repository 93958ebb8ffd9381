//! What a scraper reads. Counted off committed batches and requests, beside the work and never in its way.

use std::collections::HashSet;
use std::sync::OnceLock;
use std::time::Duration;

use axum::http::{Method, StatusCode};
use engine::change::{Created, Ended, Fate};
use engine::{Change, Commit};
use metrics::{Counter, Histogram, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use model::{Cause, InstanceId, Span, State, Timestamp, Verdict};

use crate::events::Since;
use crate::ops::Desk;

/// Commits looked at before others get a turn.
const COMMITS: usize = 64;
/// Commits are let pile up for so long before they are counted.
const GATHER: Duration = Duration::from_millis(100);
/// Old samples are folded into the buckets this often, so that an unread scraper costs no memory.
const FOLD_EVERY: Duration = Duration::from_secs(5);

const SECONDS: [f64; 16] =
    [0.000_5, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 60.0, 600.0];
const COUNTS: [f64; 8] = [1.0, 4.0, 16.0, 64.0, 256.0, 1_024.0, 4_096.0, 16_384.0];

/// One recorder per process, whoever asks first.
fn handle() -> &'static PrometheusHandle {
    static HANDLE: OnceLock<PrometheusHandle> = OnceLock::new();
    HANDLE.get_or_init(|| {
        let recorder = PrometheusBuilder::new()
            .set_buckets_for_metric(Matcher::Suffix("_seconds".into()), &SECONDS)
            .and_then(|builder| builder.set_buckets_for_metric(Matcher::Suffix("_changes".into()), &COUNTS))
            .expect("the buckets are not empty")
            .build_recorder();
        let handle = recorder.handle();
        if metrics::set_global_recorder(recorder).is_err() {
            tracing::warn!("another metrics recorder is installed; /metrics stays empty");
        }
        describe();
        handle
    })
}

fn describe() {
    describe_histogram!(
        "duly_lateness_seconds",
        "From the planned time to the order and to the start, for planned instances."
    );
    describe_histogram!("duly_commit_seconds", "Time of one commit.");
    describe_histogram!("duly_commit_changes", "Changes in one commit.");
    describe_histogram!("duly_api_seconds", "Time to the beginning of an answer, by route.");
    describe_counter!("duly_api_requests_total", "Requests by route and status.");
    describe_counter!("duly_instances_created_total", "Instances made, by cause.");
    describe_counter!("duly_instances_ended_total", "Instances ended, by state.");
    describe_counter!("duly_attempts_ended_total", "Attempts ended, by verdict.");
    describe_counter!("duly_retries_total", "Attempts that were followed by another.");
    describe_counter!("duly_times_missed_total", "Planned times that became no instance of their own, by fate.");
    describe_counter!("duly_commits_total", "Commits.");
    describe_counter!("duly_log_bytes_total", "Bytes of task output taken in.");
    describe_counter!("duly_commits_unseen_total", "Times the metrics fell behind the ring of commits.");
    describe_gauge!("duly_instances", "Open instances, by what they do.");
    describe_gauge!("duly_shards", "Shards this server runs.");
    describe_gauge!("duly_jobs", "Jobs of the shards this server runs.");
    describe_gauge!("duly_agents_online", "Connected agents.");
    describe_gauge!("duly_loop_idle_seconds", "How long ago the scheduling loop last came round.");
    describe_gauge!("duly_horizon_ahead_seconds", "How far ahead of now everything planned is decided.");
    describe_gauge!("duly_stuck", "1 while the store does not take writes.");
    describe_gauge!("duly_log_bytes", "Bytes of task output kept.");
}

pub(crate) fn render(desk: &Desk) -> String {
    let handle = handle();
    look(desk);
    handle.render()
}

/// What is true now, set when somebody looks.
fn look(desk: &Desk) {
    let running = desk.shards.running();
    let mut census = engine::Census::default();
    for (_, handle) in &running {
        let one = *handle.progress.census.lock();
        census.scheduled += one.scheduled;
        census.queued += one.queued;
        census.running += one.running;
        census.open += one.open;
        census.jobs += one.jobs;
        // Each of them knows all agents.
        census.agents_online = census.agents_online.max(one.agents_online);
    }
    for (state, count) in
        [("scheduled", census.scheduled), ("queued", census.queued), ("running", census.running), ("open", census.open)]
    {
        gauge!("duly_instances", "state" => state).set(count as f64);
    }
    gauge!("duly_jobs").set(census.jobs as f64);
    gauge!("duly_agents_online").set(census.agents_online as f64);
    let stuck = running.iter().any(|(_, handle)| handle.progress.trouble.lock().is_some());
    gauge!("duly_stuck").set(if stuck { 1.0 } else { 0.0 });
    gauge!("duly_shards").set(running.len() as f64);
    gauge!("duly_log_bytes").set(desk.logs.bytes() as f64);
    let idle =
        running.iter().filter_map(|(_, handle)| *handle.progress.turned_at.lock()).map(|turned| turned.elapsed());
    if let Some(idle) = idle.max() {
        gauge!("duly_loop_idle_seconds").set(idle.as_secs_f64());
    }
    if let Some(commit) = desk.ring.latest() {
        gauge!("duly_horizon_ahead_seconds").set(seconds(commit.horizon - desk.clock.now()));
    }
}

pub(crate) fn request(method: &Method, route: Option<&str>, status: StatusCode, took: Duration) {
    // An address nobody serves must not become a label, or a stranger could make as many as they like.
    let route = route.unwrap_or("none").to_owned();
    let method = match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        _ => "other",
    };
    counter!("duly_api_requests_total", "method" => method, "route" => route.clone(), "status" => status.as_str().to_owned())
        .increment(1);
    histogram!("duly_api_seconds", "route" => route).record(took.as_secs_f64());
}

/// Counts what is committed, from the ring: a handful of commits at a time, so that a busy server is not woken for each.
pub(crate) async fn follow(desk: Desk) {
    handle();
    let mut meters = Meters::new();
    let mut changes = desk.ring.watch();
    let mut position = desk.ring.position();
    let mut fold = tokio::time::interval(FOLD_EVERY);
    loop {
        match desk.ring.since(position, COMMITS) {
            Since::Reset(next) => {
                counter!("duly_commits_unseen_total").increment(1);
                meters.unplanned.clear();
                position = next;
            }
            Since::Commits(commits) if !commits.is_empty() => {
                for (number, commit) in commits {
                    meters.count(&commit);
                    position = number + commit.changes.len().max(1) as u64;
                }
                tokio::task::yield_now().await;
            }
            Since::Commits(_) => tokio::select! {
                changed = changes.changed() => match changed {
                    Ok(()) => tokio::time::sleep(GATHER).await,
                    Err(_) => return,
                },
                _ = fold.tick() => handle().run_upkeep(),
            },
        }
    }
}

/// Looked up once: counting a run must cost next to nothing.
struct Meters {
    commits: Counter,
    planned: Counter,
    misfire: Counter,
    manual: Counter,
    after: Counter,
    shard: Counter,
    ended: Vec<(State, Counter)>,
    verdicts: [Counter; VERDICTS.len()],
    retries: Counter,
    missed: Counter,
    merged: Counter,
    skipped: Counter,
    until_ordered: Histogram,
    until_started: Histogram,
    /// Open instances that somebody asked for, or another job's end: they cannot be late.
    unplanned: HashSet<InstanceId>,
}

impl Meters {
    fn new() -> Meters {
        let cause = |cause: &'static str| counter!("duly_instances_created_total", "cause" => cause);
        let fate = |fate: &'static str| counter!("duly_times_missed_total", "fate" => fate);
        let ended = |state: State| (state, counter!("duly_instances_ended_total", "state" => state.name()));
        let until = |until: &'static str| histogram!("duly_lateness_seconds", "until" => until);
        Meters {
            commits: counter!("duly_commits_total"),
            planned: cause("planned"),
            misfire: cause("misfire"),
            manual: cause("manual"),
            after: cause("after"),
            shard: cause("shard"),
            ended: State::ALL.into_iter().filter(|state| !state.is_open()).map(ended).collect(),
            verdicts: VERDICTS.map(|(_, name)| counter!("duly_attempts_ended_total", "verdict" => name)),
            retries: counter!("duly_retries_total"),
            missed: fate("missed"),
            merged: fate("merged"),
            skipped: fate("skipped"),
            until_ordered: until("ordered"),
            until_started: until("started"),
            unplanned: HashSet::new(),
        }
    }

    fn count(&mut self, commit: &Commit) {
        self.commits.increment(1);
        for change in &commit.changes {
            match change {
                Change::Created(made) => self.count_created(made),
                // A person wanted it again; its planned time was long ago.
                Change::Reopened { row, .. } => {
                    self.unplanned.insert(row.id);
                }
                Change::Ended(ended) => self.count_ended(ended),
                Change::Retried(retried) => {
                    self.retries.increment(1);
                    self.count_verdict(retried.outcome.verdict);
                }
                Change::Gap(gap) => match gap.fate {
                    Fate::Missed => self.missed.increment(gap.count),
                    Fate::Merged(_) => self.merged.increment(gap.count),
                    Fate::Skipped(_) => self.skipped.increment(gap.count),
                },
                _ => {}
            }
        }
    }

    fn count_created(&mut self, made: &Created) {
        let is_planned = match made.cause {
            Cause::Planned | Cause::Misfire { .. } => true,
            Cause::Manual(_) | Cause::After(_) => false,
            Cause::Shard(_) => made.parent.is_none_or(|parent| !self.unplanned.contains(&parent)),
        };
        if !is_planned {
            self.unplanned.insert(made.row.id);
        }
        match made.cause {
            Cause::Planned => self.planned.increment(1),
            Cause::Misfire { .. } => self.misfire.increment(1),
            Cause::Manual(_) => self.manual.increment(1),
            Cause::After(_) => self.after.increment(1),
            Cause::Shard(_) => self.shard.increment(1),
        }
    }

    fn count_ended(&mut self, ended: &Ended) {
        let state = ended.ending.state();
        for (known, counter) in &self.ended {
            if *known == state {
                counter.increment(1);
            }
        }
        let is_planned = !self.unplanned.remove(&ended.row.id);
        if is_planned {
            late(&self.until_ordered, ended.row.planned, ended.ordered_at);
        }
        if let Some(outcome) = &ended.outcome {
            self.count_verdict(outcome.verdict);
            if is_planned {
                late(&self.until_started, ended.row.planned, outcome.started_at);
            }
        }
    }

    fn count_verdict(&self, verdict: Verdict) {
        for ((known, _), counter) in VERDICTS.iter().zip(&self.verdicts) {
            if *known == verdict {
                counter.increment(1);
            }
        }
    }
}

/// Jitter and waiting count as late: it is what a user sees.
fn late(until: &Histogram, planned: Timestamp, at: Option<Timestamp>) {
    if let Some(at) = at {
        until.record(seconds(at - planned).max(0.0));
    }
}

fn seconds(span: Span) -> f64 {
    span.0 as f64 / 1e6
}

const VERDICTS: [(Verdict, &str); 10] = [
    (Verdict::Succeeded, "succeeded"),
    (Verdict::Warned, "warned"),
    (Verdict::Failed, "failed"),
    (Verdict::FailedForGood, "failed_for_good"),
    (Verdict::TimedOut, "timed_out"),
    (Verdict::Stopped, "stopped"),
    (Verdict::Lost, "lost"),
    (Verdict::Undelivered, "undelivered"),
    (Verdict::Refused, "refused"),
    (Verdict::Discarded, "discarded"),
];
