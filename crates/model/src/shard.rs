//! Which shard a job belongs to. These numbers are in every store: they must never change.
//!
//! A store is made with so many shards that all tenants share. A tenant that only some servers may schedule has further
//! ones of its own, numbered after them: who may own a shard is a matter of the shard, and a neighbour's jobs must not
//! wait for servers that are not theirs. The ids of jobs there say the shard instead of being hashed to one.

use crate::{JobId, ShardId, TenantId};

/// How many shards a tenant has that has some of its own.
pub const OWN_SHARDS: i64 = 8;
/// No store has more shards, tenants' own included: an id has room for the number.
pub const SHARDS_MAX: i64 = 1 << SHARD_BITS;

const SHARD_BITS: u32 = 9;
/// Below the mark and the shard. No counter comes that far: ten thousand in a second take 27 years.
const COUNTER_BITS: u32 = 43;
/// Ids that say their shard begin here and end at twice as much, which a console's numbers can still count.
const MARK: i64 = 1 << (COUNTER_BITS + SHARD_BITS);

/// The shard of a job, in a store that was made with so many.
pub fn shard_of(job: JobId, shards: i64) -> ShardId {
    match says_its_shard(job) {
        true => ShardId(job.0 >> COUNTER_BITS & (SHARDS_MAX - 1)),
        false => place(mix(job.0 as u64), shards),
    }
}

/// The id a job gets in a tenant's own shard, by the number that was handed out for it. None if that is too large.
pub fn job_of_own(shard: ShardId, number: i64) -> Option<JobId> {
    let fits = (0..1 << COUNTER_BITS).contains(&number) && (0..SHARDS_MAX).contains(&shard.0);
    fits.then_some(JobId(MARK | shard.0 << COUNTER_BITS | number))
}

fn says_its_shard(job: JobId) -> bool {
    (MARK..2 * MARK).contains(&job.0)
}

/// The shards that a tenant may have for its own where these are others' already; none are left after so many tenants.
pub fn own_shards(shards: i64, taken: impl Fn(ShardId) -> bool) -> Option<Vec<ShardId>> {
    let groups = (0..).map(|n| shards + n * OWN_SHARDS).take_while(|first| first + OWN_SHARDS <= SHARDS_MAX);
    let mut groups = groups.map(|first| (first..first + OWN_SHARDS).map(ShardId).collect::<Vec<_>>());
    groups.find(|group| !group.iter().any(|shard| taken(*shard)))
}

/// Where a job of this name is made. It gets an id that belongs there; another name later does not move it.
pub fn shard_of_name(tenant: TenantId, name: &str, shards: i64) -> ShardId {
    place(hash_of_name(tenant, name), shards)
}

/// The same in a tenant that has shards of its own.
pub fn shard_of_name_in(own: &[ShardId], tenant: TenantId, name: &str) -> Option<ShardId> {
    let at = hash_of_name(tenant, name).checked_rem(own.len() as u64)?;
    own.get(at as usize).copied()
}

fn hash_of_name(tenant: TenantId, name: &str) -> u64 {
    let mut hash = mix(tenant.0 as u64);
    for part in name.as_bytes().chunks(8) {
        let mut word = [0; 8];
        word[..part.len()].copy_from_slice(part);
        hash = mix(hash ^ u64::from_le_bytes(word));
    }
    // The length tells a name from the same name with zeros behind it.
    mix(hash ^ name.len() as u64)
}

fn place(hash: u64, shards: i64) -> ShardId {
    ShardId((hash % shards.max(1).unsigned_abs()) as i64)
}

/// The finalizer of splitmix64: every bit of the number decides about every bit of the answer.
fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_every_store_there_is() {
        // The first outputs of splitmix64 from seed 0 and 1, as published.
        assert_eq!(mix(0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(mix(1), 0x910a_2dec_8902_5cc1);
        let jobs = [1, 2, 3, 4_096, 1 << 31, i64::MAX].map(|id| shard_of(JobId(id), 64).0);
        assert_eq!(jobs, [1, 14, 45, 7, 44, 39]);
        let names = ["", "a", "tick", "nightly-report", "nightly-report-2", "täglich"];
        assert_eq!(names.map(|name| shard_of_name(TenantId(1), name, 64).0), [30, 56, 12, 34, 32, 13]);
        assert_eq!(shard_of_name(TenantId(2), "tick", 64).0, 37);
    }

    #[test]
    fn a_store_with_one_shard_has_everything_there() {
        for id in 0..1_000 {
            assert_eq!(shard_of(JobId(id), 1), ShardId(0));
            assert_eq!(shard_of_name(TenantId(id), "x", 1), ShardId(0));
        }
    }

    #[test]
    fn a_job_in_a_shard_of_its_tenant_says_which_and_no_other_does() {
        for (shard, number) in [(64, 0), (64, 1), (71, 4_096), (511, (1 << 43) - 1)] {
            let job = job_of_own(ShardId(shard), number).unwrap();
            assert_eq!(shard_of(job, 64), ShardId(shard));
            assert!(job.0 < 1 << 53, "a console counts no further");
        }
        assert_eq!(job_of_own(ShardId(64), 1).unwrap().0, 5_066_549_580_791_809);
        assert_eq!(job_of_own(ShardId(64), 1 << 43), None);
        assert_eq!(job_of_own(ShardId(512), 1), None);
        for job in [(1 << 52) - 1, 1 << 53, -1] {
            assert!(shard_of(JobId(job), 64).0 < 64, "{job}");
        }
        let own: Vec<ShardId> = (64..72).map(ShardId).collect();
        let names = ["", "a", "tick", "nightly-report"].map(|name| shard_of_name_in(&own, TenantId(1), name));
        assert_eq!(names.map(|shard| shard.unwrap().0), [70, 64, 68, 66]);
        assert_eq!(shard_of_name_in(&[], TenantId(1), "a"), None);
    }

    #[test]
    fn tenants_share_no_shard_of_their_own_and_what_one_gives_back_is_the_next_ones() {
        let mut taken = Vec::new();
        while let Some(group) = own_shards(64, |shard| taken.contains(&shard)) {
            assert_eq!(group.len(), 8);
            taken.extend(group);
        }
        assert_eq!(taken, (64..512).map(ShardId).collect::<Vec<_>>());
        taken.retain(|shard| !(72..80).contains(&shard.0));
        assert_eq!(own_shards(64, |shard| taken.contains(&shard)).unwrap()[0], ShardId(72));
    }

    #[test]
    fn jobs_and_names_are_spread_evenly() {
        let mut counts = [[0_u32; 64]; 2];
        for id in 0..64_000 {
            counts[0][shard_of(JobId(id), 64).0 as usize] += 1;
            counts[1][shard_of_name(TenantId(1), &format!("job-{id:05}"), 64).0 as usize] += 1;
        }
        for count in counts.as_flattened() {
            assert!((850..1_150).contains(count), "{counts:?}");
        }
    }
}
