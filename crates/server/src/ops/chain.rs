//! Which job follows which: jobs of one call are made leaders first, and no circle gets in.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use model::{JobId, TenantId, When};
use store::{Reads, StoreError};
use wire::{Code, Fault, JobBody};

use super::jobs;

/// No chain is longer than this; a longer one is taken for a circle.
const LONGEST: usize = 10_000;

/// Numbers of the bodies, in rounds: each round follows only jobs of earlier rounds or jobs that exist.
pub(super) fn rounds(bodies: &[JobBody]) -> Vec<Vec<usize>> {
    let numbers: BTreeMap<&str, usize> = bodies.iter().enumerate().map(|(n, body)| (body.job.as_str(), n)).collect();
    let mut depths = vec![None; bodies.len()];
    let mut rounds: Vec<Vec<usize>> = Vec::new();
    for start in 0..bodies.len() {
        // Walk up to a job whose round is known, then count back down.
        let mut path = Vec::new();
        let mut at = Some(start);
        let mut depth = 0;
        while let Some(n) = at {
            if let Some(known) = depths[n] {
                depth = known + 1;
                break;
            }
            if path.contains(&n) {
                break;
            }
            path.push(n);
            at = bodies[n].follows().and_then(|leader| numbers.get(leader)).copied();
        }
        for n in path.into_iter().rev() {
            depths[n] = Some(depth);
            rounds.resize(rounds.len().max(depth + 1), Vec::new());
            rounds[depth].push(n);
            depth += 1;
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
        let Some(leader) = body.follows() else { continue };
        let path = format!("jobs[{n}].after");
        if !called.contains_key(leader) && reads.job_named(tenant, leader, by)?.is_none() {
            faults.push(Fault::new(Code::NoSuchReference, path, format!("{}: there is no job {leader:?}", body.job)));
        } else if is_circle(reads, tenant, &called, &body.job, by)? {
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
    let mut at = start.to_owned();
    while seen.len() < LONGEST {
        let next = match called.get(at.as_str()) {
            Some(body) => body.follows().map(str::to_owned),
            None => kept_leader(reads, tenant, &at, by)?,
        };
        let Some(next) = next else { return Ok(false) };
        if next == start {
            return Ok(true);
        }
        // A circle further up is the fault of those who are in it.
        if !seen.insert(next.clone()) {
            return Ok(false);
        }
        at = next;
    }
    Ok(true)
}

fn kept_leader(reads: &dyn Reads, tenant: TenantId, name: &str, by: Instant) -> Result<Option<String>, StoreError> {
    let Some(record) = reads.job_named(tenant, name, by)? else { return Ok(None) };
    let compiled = jobs::compiled(reads, record.rule, by)?;
    let leader: JobId = match compiled.rule.trigger.when {
        When::After { job, .. } => job,
        When::Manual | When::Cron { .. } | When::Rate { .. } | When::Delay { .. } | When::Once { .. } => {
            return Ok(None);
        }
    };
    Ok(reads.job(leader, by)?.map(|record| record.name))
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
    }
}
