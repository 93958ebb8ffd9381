//! Which shard a job belongs to. These numbers are in every store: they must never change.

use crate::{JobId, ShardId, TenantId};

/// The shard of a job, in a store that was made with so many.
pub fn shard_of(job: JobId, shards: i64) -> ShardId {
    place(mix(job.0 as u64), shards)
}

/// Where a job of this name is made. It gets an id that belongs there; another name later does not move it.
pub fn shard_of_name(tenant: TenantId, name: &str, shards: i64) -> ShardId {
    let mut hash = mix(tenant.0 as u64);
    for part in name.as_bytes().chunks(8) {
        let mut word = [0; 8];
        word[..part.len()].copy_from_slice(part);
        hash = mix(hash ^ u64::from_le_bytes(word));
    }
    // The length tells a name from the same name with zeros behind it.
    place(mix(hash ^ name.len() as u64), shards)
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
