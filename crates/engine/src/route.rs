//! Routes that hash or remember: the same job to the same agent as long as it is there, the agent chosen least often, the
//! agent chosen longest ago. Pure: chance comes from the numbers of job and agent.

use md5::{Digest, Md5};
use model::{AgentId, JobId};

use crate::plan::chance;

/// Points of one agent on the ring: enough that shares are even, and as many as other schedulers of this kind have, so
/// that a job that moves here keeps its agent.
const POINTS: u32 = 100;
/// Counts start over before they mean nothing.
const COUNT_MAX: u32 = 1_000_000;

/// All agents of a line, each at many points: a job goes to the next point after its own. When an agent goes, only its
/// own jobs move.
#[derive(Debug)]
pub(crate) struct Ring(Vec<(u32, AgentId)>);

impl Ring {
    pub(crate) fn of<'a>(members: impl Iterator<Item = (AgentId, &'a str)>) -> Ring {
        let point = |(id, name): (AgentId, &str)| {
            let name = name.to_string();
            (0..POINTS).map(move |n| (hash(&format!("SHARD-{name}-NODE-{n}")), id))
        };
        let mut points: Vec<_> = members.flat_map(point).collect();
        points.sort_unstable();
        Ring(points)
    }

    /// Skipping those who cannot take it comes to the same as a ring without them.
    pub(crate) fn choose(&self, number: i64, takes: impl Fn(&AgentId) -> bool) -> Option<AgentId> {
        let own = hash(&number.to_string());
        let from = self.0.partition_point(|(point, _)| *point < own);
        let (before, after) = self.0.split_at(from);
        after.iter().chain(before).map(|(_, id)| *id).find(takes)
    }
}

fn hash(text: &str) -> u32 {
    let digest = Md5::digest(text);
    u32::from_le_bytes([digest[0], digest[1], digest[2], digest[3]])
}

/// How often each agent was chosen for a job, the one chosen longest ago first.
#[derive(Debug, Default)]
pub(crate) struct Usage(Vec<(AgentId, u32)>);

impl Usage {
    pub(crate) const fn new() -> Usage {
        Usage(Vec::new())
    }

    pub(crate) fn least_often(
        &self,
        job: JobId,
        members: &[AgentId],
        takes: impl Fn(&AgentId) -> bool,
    ) -> Option<AgentId> {
        let count = |id: &AgentId| self.count(*id).unwrap_or_else(|| start(job, *id, members.len()));
        self.eldest_first(members).filter(|id| takes(id)).min_by_key(count)
    }

    pub(crate) fn longest_ago(&self, members: &[AgentId], takes: impl Fn(&AgentId) -> bool) -> Option<AgentId> {
        self.eldest_first(members).find(takes)
    }

    pub(crate) fn choose(&mut self, job: JobId, chosen: AgentId, members: &[AgentId]) {
        self.0.retain(|(id, _)| members.contains(id));
        for id in members {
            if self.count(*id).is_none() {
                self.0.push((*id, start(job, *id, members.len())));
            }
        }
        if let Some(at) = self.0.iter().position(|(id, _)| *id == chosen) {
            let (id, count) = self.0.remove(at);
            self.0.push((id, if count >= COUNT_MAX { 0 } else { count + 1 }));
        }
    }

    fn count(&self, agent: AgentId) -> Option<u32> {
        self.0.iter().find(|(id, _)| *id == agent).map(|(_, count)| *count)
    }

    /// Whoever is new comes after all that are known.
    fn eldest_first(&self, members: &[AgentId]) -> impl Iterator<Item = AgentId> {
        let known = self.0.iter().map(|(id, _)| *id).filter(|id| members.contains(id));
        known.chain(members.iter().copied().filter(|id| self.count(*id).is_none()))
    }
}

/// A newcomer does not start at nothing, or every new agent would get all work until it has caught up.
fn start(job: JobId, agent: AgentId, members: usize) -> u32 {
    (chance(job.0 as u64, agent.0 as u64) % members.max(1) as u64) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(names: &[(i64, &str)], gone: Option<i64>) -> Vec<i64> {
        let ring = Ring::of(names.iter().map(|(id, name)| (AgentId(*id), *name)));
        let takes = |id: &AgentId| Some(id.0) != gone;
        (1..=20).map(|job| ring.choose(job, takes).expect("somebody takes it").0).collect()
    }

    /// What the schedulers people come from choose for the same names and numbers.
    #[test]
    fn the_ring_keeps_the_agents_that_other_schedulers_chose() {
        let names = [(1, "http://10.0.0.1:9999/"), (2, "http://10.0.0.2:9999/"), (3, "http://10.0.0.3:9999/")];
        let all = chosen(&names, None);
        assert_eq!(all, [3, 3, 1, 3, 1, 3, 2, 2, 1, 1, 1, 1, 3, 3, 1, 2, 2, 1, 1, 1]);
        let without = chosen(&names, Some(3));
        assert_eq!(without, chosen(&names[..2], None), "to skip one is to have a ring without it");
        let moved: Vec<_> = (1..=20).zip(all.iter().zip(&without)).filter(|(_, (a, b))| a != b).collect();
        let moved: Vec<_> = moved.into_iter().map(|(job, (_, now))| (job, *now)).collect();
        assert_eq!(moved, [(1, 1), (2, 1), (4, 2), (6, 1), (13, 1), (14, 1)]);
    }

    #[test]
    fn least_often_is_even_and_longest_ago_goes_round() {
        let members = [AgentId(1), AgentId(2), AgentId(3)];
        let (job, anyone) = (JobId(7), |_: &AgentId| true);
        let mut often = Usage::default();
        let mut shares = [0_i32; 3];
        for _ in 0..300 {
            let agent = often.least_often(job, &members, anyone).unwrap();
            often.choose(job, agent, &members);
            shares[agent.0 as usize - 1] += 1;
        }
        assert!(shares.iter().all(|share| (share - 100).abs() <= 2), "{shares:?}");
        let mut recent = Usage::default();
        let turns: Vec<_> = (0..7)
            .map(|_| {
                let agent = recent.longest_ago(&members, anyone).unwrap();
                recent.choose(job, agent, &members);
                agent.0
            })
            .collect();
        assert_eq!(turns, [1, 2, 3, 1, 2, 3, 1]);
    }

    #[test]
    fn who_cannot_take_it_is_passed_over_and_who_went_is_forgotten() {
        let (job, members) = (JobId(7), [AgentId(1), AgentId(2)]);
        let mut usage = Usage::default();
        usage.choose(job, AgentId(2), &members);
        assert_eq!(usage.longest_ago(&members, |_| true), Some(AgentId(1)));
        assert_eq!(usage.longest_ago(&members, |id| id.0 != 1), Some(AgentId(2)));
        usage.choose(job, AgentId(3), &[AgentId(3)]);
        assert_eq!(usage.longest_ago(&members, |_| true), Some(AgentId(1)), "they are new again, in their order");
        assert_eq!(usage.least_often(job, &members, |_| false), None);
    }
}
