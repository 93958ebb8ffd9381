//! Commands and replies as servers send them to each other. What is not here is never asked of another server: requests
//! about one job or instance are passed on whole.

use engine::input::JobDraft;
use engine::{Command, Refusal, Reply, Scope};
use model::{ContentId, InstanceId, JobId, TenantId, VersionId};
use store::{Reads, StoreError};
use wire::peer::{AgentBody, DraftBody, RefusedWord, ReportBody, Said, What};

use crate::ops::jobs::compiled;
use crate::shard::AskError;

pub(super) fn what(command: &Command) -> Option<What> {
    Some(match command {
        Command::ApplyJob(draft) => What::ApplyJob(Box::new(DraftBody {
            id: draft.id.map(|id| id.0),
            tenant: draft.tenant.0,
            name: draft.name.clone(),
            folder: draft.folder.clone(),
            labels: draft.labels.clone(),
            rule: draft.rule_content.0,
            task: draft.task.0,
            source: draft.source.0,
            mode: draft.mode.into(),
            alias: draft.alias,
        })),
        Command::DeleteJob { job } => What::DeleteJob { job: job.0 },
        Command::Followers { job } => What::Followers { job: job.0 },
        Command::PutAgent { agent } => What::PutAgent(Box::new(AgentBody::from(&**agent))),
        Command::Callback { scope, reports } => What::CallBack {
            tenant: scope.tenant.0,
            pool: scope.pool.clone(),
            reports: reports.iter().filter_map(ReportBody::of).collect(),
        },
        Command::SetMode { job, mode } => What::SetMode { job: job.0, mode: (*mode).into() },
        Command::Stop { instance } => What::Stop { instance: instance.0 },
        Command::Release { .. }
        | Command::Trigger(_)
        | Command::Rerun { .. }
        | Command::Resolve { .. }
        | Command::Why { .. }
        | Command::RemoveAgent { .. }
        | Command::PutPool { .. }
        | Command::PutTenant { .. }
        | Command::RemoveTenant { .. }
        | Command::PutResource { .. }
        | Command::SetGlobalLimit { .. } => return None,
    })
}

/// The rule of a job is read from the store, which both have.
pub(super) fn command(what: What, reads: &dyn Reads, by: std::time::Instant) -> Result<Command, StoreError> {
    Ok(match what {
        What::ApplyJob(body) => Command::ApplyJob(Box::new(JobDraft {
            id: body.job(),
            tenant: TenantId(body.tenant),
            rule: compiled(reads, body.rule(), by)?,
            rule_content: body.rule(),
            task: ContentId(body.task),
            source: ContentId(body.source),
            mode: body.mode.into(),
            alias: body.alias,
            name: body.name,
            folder: body.folder,
            labels: body.labels,
        })),
        What::DeleteJob { job } => Command::DeleteJob { job: JobId(job) },
        What::SetMode { job, mode } => Command::SetMode { job: JobId(job), mode: mode.into() },
        What::Stop { instance } => Command::Stop { instance: InstanceId(instance) },
        What::Followers { job } => Command::Followers { job: JobId(job) },
        What::PutAgent(body) => Command::PutAgent { agent: Box::new((*body).into()) },
        What::CallBack { tenant, pool, reports } => Command::Callback {
            scope: Scope { tenant: TenantId(tenant), pool },
            reports: reports.into_iter().map(Into::into).collect(),
        },
    })
}

pub(super) fn said(answer: Result<Reply, AskError>) -> Said {
    match answer {
        Ok(Reply::Job { id, version, changed }) => Said::Job { id: id.0, version: version.0, changed },
        Ok(Reply::CalledBack { ended, foreign }) => Said::CalledBack { ended, foreign },
        Ok(Reply::Followers(jobs)) => Said::Followers(jobs.into_iter().map(|job| job.0).collect()),
        Ok(Reply::Done | Reply::Instance { .. } | Reply::Repeated { .. } | Reply::Why(_) | Reply::Tenant(_)) => {
            Said::Done
        }
        Err(AskError::Gone) => Said::NotHere,
        Err(AskError::Stalled(why) | AskError::Unserved(why)) => Said::Stalled(why),
        Err(AskError::Refused(refusal)) => Said::Refused(match refusal {
            Refusal::NoSuchJob(job) => RefusedWord::NoSuchJob(job.0),
            Refusal::NameTaken { name, by } => RefusedWord::NameTaken { name, by: by.0 },
            Refusal::Cycle(job) => RefusedWord::Cycle(job.0),
            Refusal::Quarantined { job, error } => RefusedWord::Held { job: job.0, error },
            Refusal::OutOfNumbers => RefusedWord::OutOfNumbers,
            Refusal::NotOwner => RefusedWord::NotOwner,
            other => RefusedWord::Failed(other.to_string()),
        }),
    }
}

pub(super) fn reply(said: Said) -> Result<Reply, AskError> {
    Ok(match said {
        Said::Done => Reply::Done,
        Said::Job { id, version, changed } => Reply::Job { id: JobId(id), version: VersionId(version), changed },
        Said::CalledBack { ended, foreign } => Reply::CalledBack { ended, foreign },
        Said::Followers(jobs) => Reply::Followers(jobs.into_iter().map(JobId).collect()),
        Said::NotHere => return Err(AskError::Gone),
        Said::Stalled(why) => return Err(AskError::Stalled(why)),
        Said::Refused(word) => {
            return Err(AskError::Refused(match word {
                RefusedWord::NoSuchJob(job) => Refusal::NoSuchJob(JobId(job)),
                RefusedWord::NameTaken { name, by } => Refusal::NameTaken { name, by: JobId(by) },
                RefusedWord::Cycle(job) => Refusal::Cycle(JobId(job)),
                RefusedWord::Held { job, error } => Refusal::Quarantined { job: JobId(job), error },
                RefusedWord::OutOfNumbers => Refusal::OutOfNumbers,
                RefusedWord::NotOwner => Refusal::NotOwner,
                RefusedWord::Failed(why) => Refusal::Quarantining(why),
            }));
        }
    })
}
