//! A person's stop: the intent is recorded before the signal, nothing further starts, no retry follows.

use model::{Actor, AgentId, Ending, InstanceId, JobId, Timestamp};

use crate::change::Change;
use crate::effect::{Decisions, Effect};
use crate::open::Phase;
use crate::shard::Shard;

impl Shard {
    pub(crate) fn stop(&mut self, id: InstanceId, by: Actor, now: Timestamp, out: &mut Decisions) {
        let open = self.open.get_mut(&id).expect("only open instances are stopped");
        match open.phase {
            // Its entry must outlive any change of the job, or a plan would name that time once more: it ends when its
            // time comes, without having started. The next of a chain is at no time a plan could name.
            Phase::Scheduled
                if self.jobs.get(&open.job).is_some_and(|job| !open.by_trigger() || job.names(open.planned)) =>
            {
                if open.stopping.is_none() {
                    open.stopping = Some((by.clone(), now));
                    out.change(Change::Stopping { row: open.row(), by, at: now });
                }
            }
            Phase::Scheduled
            | Phase::Waiting
            | Phase::Queued { .. }
            | Phase::InLine { .. }
            | Phase::Asking
            | Phase::RetryWait { .. } => {
                self.finish(id, Ending::Stopped(by), None, None, now, out);
            }
            Phase::Ordered { agent } | Phase::Running { agent } => {
                // Asked twice is asked once: the first name stays.
                if open.stopping.is_none() {
                    open.stopping = Some((by.clone(), now));
                    out.change(Change::Stopping { row: open.row(), by: by.clone(), at: now });
                }
                let (job, attempt, grace) = (open.job, open.attempt, open.rule.rule.stop_grace);
                let alias = self.alias_of(job);
                out.effect(Effect::Stop { agent, attempt, alias, by: by.0.clone(), grace });
                self.stop_beside(id, job, agent, &by, now, out);
            }
            Phase::Spread { .. } => {
                if open.stopping.is_none() {
                    open.stopping = Some((by.clone(), now));
                    out.change(Change::Stopping { row: open.row(), by: by.clone(), at: now });
                }
                for child in self.children(id) {
                    self.stop(child, by.clone(), now, out);
                }
            }
        }
    }

    /// An executor ends all it has of a job or nothing: the others are stopped by the same word.
    fn stop_beside(
        &mut self,
        id: InstanceId,
        job: JobId,
        agent: AgentId,
        by: &Actor,
        now: Timestamp,
        out: &mut Decisions,
    ) {
        let Some(target) = self.agents.get(&agent).filter(|agent| agent.record.kind.is_executor()) else { return };
        let beside = |other: &&InstanceId| {
            let open = &self.open[*other];
            **other != id && open.job == job && open.stopping.is_none()
        };
        let mut beside: Vec<InstanceId> = target.busy.iter().filter(beside).copied().collect();
        beside.sort();
        for other in beside {
            self.stop(other, by.clone(), now, out);
        }
    }

    fn children(&self, parent: InstanceId) -> Vec<InstanceId> {
        let mut children: Vec<_> =
            self.open.values().filter(|open| open.parent == Some(parent) && !open.alone).map(|open| open.id).collect();
        children.sort();
        children
    }
}
