//! Batches of several shards in one transaction: what becomes of them when the database, or one of them, is in trouble.

use std::sync::Arc;
use std::time::{Duration, Instant};

use duly_store::postgres::{Options, PgStore};
use duly_store::{CommitError, Store};
use engine::change::{Change, Commit};
use model::*;

#[path = "support/cluster.rs"]
mod cluster;
mod support;

use cluster::{Cluster, Database};
use support::{created, ended, row};

const SHARDS: i64 = 8;

fn open(database: &Database) -> PgStore {
    PgStore::open(&database.address, &Options { shards: SHARDS as u32, ..Options::default() }).unwrap()
}

/// Batch n of each shard creates one instance of a job of its own, and ends the one before.
struct Owners {
    store: PgStore,
    terms: Vec<Term>,
    batch: i64,
}

impl Owners {
    fn new(mut store: PgStore) -> Owners {
        let terms = (0..SHARDS).map(|shard| store.take_over(ShardId(shard)).unwrap().term).collect();
        Owners { store, terms, batch: 0 }
    }

    fn next(&self) -> Vec<Arc<Commit>> {
        (0..SHARDS).map(|shard| Arc::new(self.batch_of(shard))).collect()
    }

    fn batch_of(&self, shard: i64) -> Commit {
        let n = self.batch + 1;
        let id = |n: i64| n * SHARDS + shard;
        let mut new = created(id(n));
        new.row.job = JobId(shard + 1);
        let mut changes = vec![Change::Created(new)];
        if n > 1 {
            changes.push(ended(id(n - 1)));
        }
        Commit {
            shard: ShardId(shard),
            term: self.terms[shard as usize],
            batch: Batch(n),
            horizon: row(id(n)).planned,
            next_id: id(n) + 1,
            changes,
            claims: vec![],
        }
    }

    fn stand(&mut self) -> Vec<i64> {
        (0..SHARDS).map(|shard| self.store.standing(ShardId(shard)).unwrap().batch.0).collect()
    }

    fn open(&mut self) -> Vec<i64> {
        let mut open = Vec::new();
        for shard in 0..SHARDS {
            open.extend(self.store.load(ShardId(shard)).unwrap().open.iter().map(|i| i.id.0));
        }
        open
    }
}

fn eventually<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn all_of_them_are_one_transaction() {
    let database = Database::fresh();
    let mut owners = Owners::new(open(&database));
    database.run("create table public.seen (batch int8, inside int8)");
    database.run(
        "create function public.seen() returns trigger language plpgsql as $$
         begin insert into public.seen values (new.batch, txid_current()); return null; end $$",
    );
    database.run("create trigger seen after update on duly.shard for each row execute function public.seen()");
    for _ in 0..3 {
        let answers = owners.store.commit_all(&owners.next());
        assert!(answers.iter().all(Result::is_ok), "{answers:?}");
        owners.batch += 1;
    }
    assert_eq!(owners.stand(), [3; SHARDS as usize]);
    assert_eq!(owners.open(), (3 * SHARDS..4 * SHARDS).collect::<Vec<_>>());
    let groups = database.run("select inside from public.seen group by inside, batch having count(*) = 8");
    assert_eq!(groups, 3, "each round is one");
}

#[test]
fn two_batches_of_one_shard_are_written_one_after_the_other() {
    let database = Database::fresh();
    let mut owners = Owners::new(open(&database));
    let first = Arc::new(owners.batch_of(0));
    owners.batch = 1;
    let answers = owners.store.commit_all(&[first, Arc::new(owners.batch_of(0))]);
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    assert_eq!(owners.stand()[0], 2);
}

/// Two who write the same shards, one of them no longer theirs, and a third who takes them over meanwhile.
#[test]
fn a_take_over_in_the_middle_stops_only_what_was_taken() {
    let database = Database::fresh();
    let mut owners = Owners::new(open(&database));
    let mut other = open(&database);
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| {
            let mut lost = Vec::new();
            while lost.len() < 2 {
                let left = owners.next().into_iter().filter(|commit| !lost.contains(&commit.shard));
                let left: Vec<_> = left.collect();
                for (answer, commit) in owners.store.commit_all(&left).into_iter().zip(left) {
                    match answer {
                        Ok(_) => {}
                        Err(CommitError::NotOwner { shard }) => {
                            assert_eq!(shard, commit.shard);
                            lost.push(shard);
                        }
                        Err(other) => panic!("{other}"),
                    }
                }
                owners.batch += 1;
            }
            lost
        });
        other.take_over(ShardId(5)).unwrap();
        other.take_over(ShardId(2)).unwrap();
        let mut lost = writing.join().unwrap();
        lost.sort_unstable();
        assert_eq!(lost, [ShardId(2), ShardId(5)]);
    });
    let (last, stand) = (owners.batch, owners.stand());
    assert!(stand.iter().enumerate().all(|(shard, at)| *at == last || [2, 5].contains(&shard)), "{stand:?}");
}

/// Cut off while the last word is under way, once before and once after it has taken effect.
#[test]
fn a_lost_last_word_is_unknown_to_all_of_them() {
    let cluster = Cluster::start();
    let database = cluster.database();
    let mut owners = Owners::new(open(&database));
    let cut_while = |owners: &mut Owners, waits: &str| {
        std::thread::scope(|scope| {
            let committing = scope.spawn(|| owners.store.commit_all(&owners.next()));
            let cut = format!("select pg_terminate_backend(pid) from pg_stat_activity where wait_event = '{waits}'");
            eventually("it waits at its commit", || (database.run(&cut) == 1).then_some(()));
            committing.join().unwrap()
        })
    };
    let unknown = |answers: &[Result<_, CommitError>]| {
        assert_eq!(answers.len(), SHARDS as usize);
        assert!(answers.iter().all(|answer| matches!(answer, Err(CommitError::Unknown(_)))), "some are sure");
    };
    database.run(
        "create function slow() returns trigger language plpgsql as $$ begin perform pg_sleep(20); return null; end $$",
    );
    database.run(
        "create constraint trigger slow after update on duly.shard deferrable initially deferred
         for each row execute function slow()",
    );
    unknown(&cut_while(&mut owners, "PgSleep"));
    assert_eq!(owners.stand(), [0; SHARDS as usize], "none of them happened");
    database.run("drop trigger slow on duly.shard");

    // It is on this disk, and waits for a replica that is not there.
    database.run("alter system set synchronous_standby_names = 'nobody'");
    database.run("select pg_reload_conf()");
    unknown(&cut_while(&mut owners, "SyncRep"));
    database.run("alter system reset synchronous_standby_names");
    database.run("select pg_reload_conf()");
    assert_eq!(owners.stand(), [1; SHARDS as usize], "all of them did");
    owners.batch = 1;
    assert!(owners.store.commit_all(&owners.next()).iter().all(Result::is_ok));

    // A connection that died before: nothing was sent that could have happened.
    owners.batch = 2;
    database.run("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'duly'");
    let answers = owners.store.commit_all(&owners.next());
    assert!(answers.iter().all(|answer| matches!(answer, Err(CommitError::Retry(_)))), "{answers:?}");
    assert!(owners.store.commit_all(&owners.next()).iter().all(Result::is_ok));
}
