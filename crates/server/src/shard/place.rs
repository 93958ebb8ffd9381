//! Where a command belongs: to the shard of its job, of its instance, or to the first one, which keeps what all share.

use engine::Command;
use engine::input::Subject;
use model::{InstanceId, JobId, ShardId, TenantId};

/// Keeps agents, pools, tenants and limits.
pub(crate) const FIRST: ShardId = ShardId(0);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    First,
    Job(JobId),
    /// A job that is to be made: the same name always leads to the same shard, so that a name promised before a crash is
    /// found by who asks for it next.
    NewJob(TenantId, String),
    Instance(InstanceId),
    /// Each report where its attempt is.
    Reports,
}

pub(crate) fn place_of(command: &Command) -> Place {
    match command {
        Command::ApplyJob(draft) => match draft.id {
            Some(id) => Place::Job(id),
            None => Place::NewJob(draft.tenant, draft.name.clone()),
        },
        Command::SetMode { job, .. }
        | Command::Release { job }
        | Command::DeleteJob { job }
        | Command::Followers { job }
        | Command::Why { subject: Subject::Job(job) } => Place::Job(*job),
        Command::Trigger(asked) => Place::Job(asked.job),
        Command::Rerun { instance, .. } => Place::Job(instance.job),
        Command::Stop { instance }
        | Command::Resolve { instance, .. }
        | Command::Why { subject: Subject::Instance(instance) } => Place::Instance(*instance),
        Command::Callback { .. } => Place::Reports,
        Command::PutAgent { .. }
        | Command::RemoveAgent { .. }
        | Command::PutPool { .. }
        | Command::PutTenant { .. }
        | Command::RemoveTenant { .. }
        | Command::PutResource { .. }
        | Command::SetGlobalLimit { .. } => Place::First,
    }
}
