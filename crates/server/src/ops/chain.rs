//! Which job follows which: jobs of one call are made leaders first, and no circle gets in.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use model::TenantId;
use store::{Reads, StoreError};
use wire::{Code, Fault, JobBody};

use super::jobs;

/// No chain is longer than this; a longer one is taken for a circle.
const LONGEST: usize = 10_000;

/// Numbers of the bodies, in rounds: each round follows only jobs of earlier rounds or jobs that exist.
pub(super) fn rounds(bodies: &[JobBody]) -> Vec<Vec<usize>> {
    let numbers: BTreeMap<&str, usize> = bodies.iter().enumerate().map(|(n, body)| (body.job.as_str(), n)).collect();
    let mut depths: Vec<Option<usize>> = vec![None; bodies.len()];
    let mut rounds: Vec<Vec<usize>> = Vec::new();
    for start in 0..bodies.len() {
        // Looked at again once its leaders have their rounds; one that is on the way already is part of a circle.
        let mut way = vec![start];
        while let Some(n) = way.last().copied() {
            let leaders = bodies[n].follows().into_iter().filter_map(|leader| numbers.get(leader)).copied();
            let open: Vec<usize> = leaders.clone().filter(|n| depths[*n].is_none() && !way.contains(n)).collect();
            if depths[n].is_none() && !open.is_empty() {
                way.extend(open);
                continue;
            }
            way.pop();
            if depths[n].is_none() {
                let depth = leaders.filter_map(|n| depths[n]).map(|depth| depth + 1).max().unwrap_or(0);
                depths[n] = Some(depth);
                rounds.resize(rounds.len().max(depth + 1), Vec::new());
                rounds[depth].push(n);
            }
        }
    }
    rounds
}

/// Faults of `after`: a leader that is nowhere, a circle.
pub(super) fn faults(
    reads: &dyn Reads,
    tenant: TenantId,
    bodies: &[JobBody],
    by: Instant,
) -> Result<Vec<Fault>, StoreError> {
    let called: BTreeMap<&str, &JobBody> = bodies.iter().map(|body| (body.job.as_str(), body)).collect();
    let mut faults = Vec::new();
    for (n, body) in bodies.iter().enumerate() {
        let path = format!("jobs[{n}].after");
        let mut missing = false;
        for leader in body.follows() {
            if !called.contains_key(leader) && reads.job_named(tenant, leader, by)?.is_none() {
                let told = format!("{}: there is no job {leader:?}", body.job);
                faults.push(Fault::new(Code::NoSuchReference, path.clone(), told));
                missing = true;
            }
        }
        if !missing && is_circle(reads, tenant, &called, &body.job, by)? {
            faults.push(Fault::new(Code::FollowsItself, path, format!("{} would follow itself", body.job)));
        }
    }
    Ok(faults)
}

fn is_circle(
    reads: &dyn Reads,
    tenant: TenantId,
    called: &BTreeMap<&str, &JobBody>,
    start: &str,
    by: Instant,
) -> Result<bool, StoreError> {
    let mut seen = BTreeSet::new();
    let mut above = vec![start.to_owned()];
    while let Some(at) = above.pop() {
        let leaders = match called.get(at.as_str()) {
            Some(body) => body.follows().into_iter().map(str::to_owned).collect(),
            None => kept_leaders(reads, tenant, &at, by)?,
        };
        for leader in leaders {
            if leader == start || seen.len() > LONGEST {
                return Ok(true);
            }
            // A circle further up is the fault of those who are in it.
            if seen.insert(leader.clone()) {
                above.push(leader);
            }
        }
    }
    Ok(false)
}

fn kept_leaders(reads: &dyn Reads, tenant: TenantId, name: &str, by: Instant) -> Result<Vec<String>, StoreError> {
    let Some(record) = reads.job_named(tenant, name, by)? else { return Ok(Vec::new()) };
    let compiled = jobs::compiled(reads, record.rule, by)?;
    let mut names = Vec::new();
    for follow in &compiled.rule.trigger.follows {
        names.extend(reads.job(follow.job, by)?.map(|record| record.name));
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaders_come_first() {
        let job = |name: &str, after: &str| {
            let after = if after.is_empty() { String::new() } else { format!("after: {after}\n") };
            wire::job::parse_yaml(&format!("job: {name}\n{after}noop: true\n")).unwrap().remove(0)
        };
        let bodies = [job("d", "c"), job("c", "b"), job("x", ""), job("b", "elsewhere"), job("y", "x")];
        assert_eq!(rounds(&bodies), [vec![3, 2], vec![1, 4], vec![0]]);
        assert_eq!(rounds(&[job("a", "b"), job("b", "a")]).concat().len(), 2);
        let bodies = [job("d", "[b, c]"), job("c", "a"), job("b", ""), job("a", "")];
        assert_eq!(rounds(&bodies).iter().map(|round| round.len()).collect::<Vec<_>>(), [2, 1, 1]);
    }
}
