//! Names what a change is about, for the record of one that could not be.

use engine::change::Change;

pub(crate) fn subject(change: &Change) -> String {
    match change {
        Change::Created(c) => {
            format!("instance {} of job {} for {}, part {}", c.row.id, c.row.job, c.row.planned.0, c.part.number)
        }
        Change::Withdrawn { row } => format!("taking back instance {}", row.id),
        Change::Placed { row, .. } => format!("placing instance {}", row.id),
        Change::Progress(p) => format!("progress of instance {}", p.row.id),
        Change::Retried(r) => format!("retrying instance {}", r.row.id),
        Change::Ended(e) => format!("ending instance {}", e.row.id),
        Change::Reopened { row, .. } => format!("reopening instance {}", row.id),
        Change::Stopping { row, .. } => format!("stopping instance {}", row.id),
        Change::Gap(gap) => format!("a gap of job {}", gap.job),
        Change::JobPut(job) => format!("job {} ({})", job.id, job.name),
        Change::JobMode { job, .. } => format!("the mode of job {job}"),
        Change::JobRemoved { job, .. } => format!("removing job {job}"),
        Change::JobCounted { job, .. } => format!("the count of job {job}"),
        Change::Quarantined { .. } => "a quarantine".into(),
        Change::Unquarantined { job, .. } => format!("releasing job {job} from quarantine"),
        Change::AgentPut(agent) => format!("agent {}", agent.id),
        Change::AgentRemoved { agent } => format!("removing agent {agent}"),
        Change::PoolPut(pool) => format!("pool {}", pool.name),
        Change::TenantPut(tenant) => format!("tenant {}", tenant.name),
        Change::TenantRemoved { tenant } => format!("removing tenant {tenant}"),
        Change::GlobalLimit { .. } => "the limit of the installation".into(),
        Change::Orphan { attempt, .. } => format!("a report about attempt {attempt}"),
        Change::Note(_) => "a note".into(),
        Change::Told { to, .. } => format!("a message to shard {to}"),
        Change::Took { id } => format!("taking message {}", id.0),
        Change::Follower { job, follower, .. } => format!("job {follower} following job {job}"),
        Change::Drawn(draw) => format!("tickets of instance {}", draw.instance),
        Change::Returned(draw) => format!("giving back the tickets of instance {}", draw.instance),
        Change::ResourcePut { name, .. } => format!("{} {}", name.kind, name.name),
        Change::Released { claim } => format!("releasing {claim:?}"),
    }
}
