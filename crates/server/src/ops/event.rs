//! What a commit means to people: each change that is worth telling becomes one event. Derived when somebody reads,
//! never when something runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::change::{Fate, NoteKind};
use engine::{Change, Commit};
use model::{AgentId, JobId, State, Timestamp};
use parking_lot::Mutex;
use wire::api::{EventKind, EventView};

use super::{Desk, Sight};

/// Jobs are looked up once per reader, as many as this.
const JOBS_MAX: usize = 10_000;

/// What one reader is told of.
#[derive(Clone)]
pub(crate) struct Ears {
    pub(crate) instances: Sight,
    pub(crate) agents: Option<Sight>,
    /// Also of what belongs to no tenant.
    pub(crate) installation: bool,
}

/// Turns commits into events for one reader.
pub(crate) struct Teller {
    desk: Desk,
    ears: Ears,
    jobs: Mutex<BTreeMap<JobId, Option<String>>>,
}

impl Teller {
    pub(crate) fn new(desk: Desk, ears: Ears) -> Teller {
        Teller { desk, ears, jobs: Mutex::default() }
    }

    /// The events of a commit from the change at `position` on.
    pub(crate) async fn tell(&self, number: u64, commit: &Arc<Commit>, position: u64) -> Vec<EventView> {
        let skip = position.saturating_sub(number) as usize;
        let mut told = Vec::new();
        for (index, change) in commit.changes.iter().enumerate().skip(skip) {
            if let Some(event) = event(number + index as u64, change) {
                told.extend(self.name(event, change).await);
            }
        }
        told
    }

    /// None: it is about something out of the reader's sight.
    async fn name(&self, mut event: EventView, change: &Change) -> Option<EventView> {
        if let Change::JobPut(record) = change {
            self.jobs.lock().remove(&record.id);
        }
        let about = agent_of(change);
        let agent = match change {
            Change::AgentPut(record) => Some(Arc::new((**record).clone())),
            _ => about.and_then(|agent| self.desk.anybody(agent)),
        };
        match (event.job_id.map(JobId), about) {
            (Some(job), _) => event.job = Some(self.job_in_sight(job).await?),
            (None, Some(_)) => {
                let sight = self.ears.agents.as_ref()?;
                agent.as_ref().filter(|agent| sight.shows_agent(agent))?;
            }
            // What the clock does is everybody's; anything else may tell what was in somebody's job.
            (None, None) if event.kind == EventKind::ClockJumped || self.ears.installation => {}
            (None, None) => return None,
        }
        event.agent = agent.map(|record| record.name.clone());
        Some(event)
    }

    async fn job_in_sight(&self, job: JobId) -> Option<String> {
        if let Some(known) = self.jobs.lock().get(&job) {
            return known.clone();
        }
        let record = self.desk.read(move |reads, by| reads.job_past_or_present(job, by)).await.ok()??;
        let shown = self.ears.instances.shows_job(&record).then_some(record.name);
        let mut jobs = self.jobs.lock();
        if jobs.len() >= JOBS_MAX {
            jobs.clear();
        }
        jobs.insert(job, shown.clone());
        shown
    }
}

fn agent_of(change: &Change) -> Option<AgentId> {
    match change {
        Change::Created(created) => created.target,
        Change::Placed { target, .. } => *target,
        Change::Progress(progress) => progress.target,
        Change::Ended(ended) => ended.target,
        Change::AgentPut(record) => Some(record.id),
        Change::AgentRemoved { agent } => Some(*agent),
        Change::Note(note) => match note.kind {
            NoteKind::AgentOnline(agent) | NoteKind::AgentSilent(agent) => Some(agent),
            NoteKind::NotStartedInTime
            | NoteKind::NotFinishedInTime
            | NoteKind::ClockJumped { .. }
            | NoteKind::Mode(_) => None,
        },
        _ => None,
    }
}

/// What one change says to people; nothing, if it is our own bookkeeping.
fn event(id: u64, change: &Change) -> Option<EventView> {
    let plain = |at: Timestamp, kind| EventView {
        id,
        at: at.into(),
        kind,
        job: None,
        job_id: None,
        instance: None,
        planned_at: None,
        state: None,
        agent: None,
        message: None,
    };
    let of_row = |row: &engine::Row, at: Timestamp, kind, state: State| EventView {
        job_id: Some(row.job.0),
        instance: Some(row.id.0),
        planned_at: Some(row.planned.into()),
        state: Some(state.into()),
        ..plain(at, kind)
    };
    let of_job = |job: JobId, at, kind| EventView { job_id: Some(job.0), ..plain(at, kind) };
    Some(match change {
        Change::Created(made) => of_row(&made.row, made.at, EventKind::InstanceCreated, made.state),
        Change::Withdrawn { row } => EventView {
            state: None,
            message: Some("taken back, because its job changed".into()),
            ..of_row(row, row.planned, EventKind::InstanceChanged, State::Scheduled)
        },
        Change::Placed { row, .. } => of_row(row, row.planned, EventKind::InstanceChanged, State::Dispatched),
        Change::Progress(progress) => EventView {
            message: progress.uncertain.as_ref().map(|uncertain| uncertain.why.clone()).or(progress.why.clone()),
            ..of_row(
                &progress.row,
                progress.started_at.or(progress.ordered_at).unwrap_or(progress.row.planned),
                EventKind::InstanceChanged,
                progress.state,
            )
        },
        Change::Retried(retried) => EventView {
            message: retried.outcome.message.clone(),
            ..of_row(&retried.row, retried.outcome.ended_at, EventKind::InstanceChanged, State::RetryWait)
        },
        Change::Ended(ended) => EventView {
            message: ended.why.clone().or_else(|| ended.outcome.as_ref()?.message.clone()),
            ..of_row(&ended.row, ended.at, EventKind::InstanceEnded, ended.ending.state())
        },
        Change::Reopened { row, by, at, .. } => EventView {
            message: Some(format!("run once more by {}", by.0)),
            ..of_row(row, *at, EventKind::InstanceChanged, State::Ready)
        },
        Change::Stopping { row, by, at } => EventView {
            state: None,
            message: Some(format!("is being stopped by {}", by.0)),
            ..of_row(row, *at, EventKind::InstanceChanged, State::Running)
        },
        Change::Gap(gap) => {
            let fate = match gap.fate {
                Fate::Missed => "missed",
                Fate::Merged(_) => "merged into one",
                Fate::Skipped(_) => "skipped",
            };
            let message = format!("{} planned times were {fate}: {}", gap.count, gap.why);
            EventView {
                planned_at: Some(gap.first.into()),
                message: Some(message),
                ..of_job(gap.job, gap.last, EventKind::TimesMissed)
            }
        }
        Change::JobPut(record) => EventView {
            message: Some(format!("by {}", record.changed_by)),
            ..of_job(record.id, record.since, EventKind::JobChanged)
        },
        Change::JobMode { job, mode, since, by, .. } => {
            let message = format!("{} by {}", mode_word(*mode), by.0);
            EventView { message: Some(message), ..of_job(*job, *since, EventKind::JobChanged) }
        }
        Change::JobRemoved { job, at, by, .. } => {
            EventView { message: Some(format!("by {}", by.0)), ..of_job(*job, *at, EventKind::JobRemoved) }
        }
        Change::Quarantined { job, error, at, .. } => {
            EventView { job_id: job.map(|job| job.0), message: Some(error.clone()), ..plain(*at, EventKind::JobHeld) }
        }
        Change::AgentPut(record) => plain(record.seen_at.unwrap_or(record.joined_at), EventKind::AgentChanged),
        Change::Note(note) => {
            let (kind, message) = match &note.kind {
                NoteKind::NotStartedInTime => (EventKind::NotStartedInTime, None),
                NoteKind::NotFinishedInTime => (EventKind::NotFinishedInTime, None),
                NoteKind::ClockJumped { by } => (EventKind::ClockJumped, Some(format!("by {by}"))),
                NoteKind::AgentOnline(_) => (EventKind::AgentOnline, None),
                NoteKind::AgentSilent(_) => (EventKind::AgentSilent, None),
                // The change of mode itself was told.
                NoteKind::Mode(_) => return None,
            };
            EventView {
                job_id: note.job.map(|job| job.0),
                instance: note.instance.map(|instance| instance.0),
                message,
                ..plain(note.at, kind)
            }
        }
        Change::JobCounted { .. }
        | Change::Unquarantined { .. }
        | Change::AgentRemoved { .. }
        | Change::PoolPut(_)
        | Change::TenantPut(_)
        | Change::TenantRemoved { .. }
        | Change::GlobalLimit { .. }
        | Change::Orphan { .. }
        | Change::Released { .. }
        | Change::Told { .. }
        | Change::Took { .. }
        | Change::Follower { .. }
        | Change::Drawn(_)
        | Change::Returned(_)
        | Change::ResourcePut { .. } => return None,
    })
}

fn mode_word(mode: model::JobMode) -> &'static str {
    match mode {
        model::JobMode::Enabled => "enabled",
        model::JobMode::Paused => "paused",
        model::JobMode::Disabled => "disabled",
    }
}
