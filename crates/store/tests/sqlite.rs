//! What only the SQLite store promises: its file, its messages, its backups.

use std::time::{Duration, Instant};

use duly_store::read::{InstanceFilter, Reads};
use duly_store::sqlite::{Options, SqliteStore};
use duly_store::{Store, StoreError};
use engine::change::{Change, Commit, Created, Ended, Row};
use model::*;

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(10)
}

#[test]
fn smoke() {
    let dir = tempfile::tempdir().unwrap();
    let mut s = SqliteStore::open(dir.path(), &Options::default()).unwrap();
    let own = s.take_over(ShardId(0)).unwrap();
    let t = Timestamp::from_secs(1_700_000_000);
    let row = Row { id: InstanceId(5), planned: t };
    let c = Created {
        row,
        tenant: TenantId(1),
        job: JobId(1),
        version: VersionId(1),
        part: Part::WHOLE,
        parent: None,
        cause: Cause::Planned,
        params: None,
        state: State::Ready,
        attempt: AttemptId(5),
        target: None,
        at: t,
    };
    let e = Ended {
        row,
        attempt: AttemptId(5),
        ending: Ending::Succeeded,
        target: None,
        ordered_at: None,
        at: t,
        outcome: None,
        why: None,
    };
    let commit = Commit {
        shard: ShardId(0),
        term: own.term,
        batch: Batch(1),
        horizon: t,
        next_id: 10,
        changes: vec![Change::Created(c), Change::Ended(e)],
        claims: vec![],
    };
    s.commit(&commit).unwrap();
    let r = s.reads().unwrap();
    let page = r.instances(&InstanceFilter { limit: 10, ..Default::default() }, soon()).unwrap();
    assert_eq!(page.len(), 1);
    assert!(r.ending(InstanceId(5), soon()).unwrap() == Some(Ending::Succeeded));
    let _ = |e: StoreError| e;
}
