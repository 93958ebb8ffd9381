//! What only a store in PostgreSQL meets: several programs at once, lost connections, a database that is not ours.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use duly_store::postgres::{Options, PgStore};
use duly_store::read::InstanceFilter;
use duly_store::{CommitError, Reads, Store, StoreError};
use engine::change::{Answer, Change, Claim, ClaimName, Commit, Created};
use model::*;

use self::cluster::{Cluster, Database};
use self::support::{Owner, created, ended, row};

#[path = "support/cluster.rs"]
mod cluster;
mod support;

fn open(of: &Database) -> PgStore {
    PgStore::open(&of.address, &Options::default()).unwrap()
}

fn refused(of: &Database) -> StoreError {
    PgStore::open(&of.address, &Options::default()).err().expect("it must not open")
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(30)
}

fn eventually<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let end = soon();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < end, "never happened: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn programs_that_start_at_once_make_one_store() {
    let database = Database::fresh();
    let names = std::thread::scope(|scope| {
        let starts: Vec<_> = (0..6).map(|_| scope.spawn(|| open(&database).installation().unwrap())).collect();
        starts.into_iter().map(|start| start.join().unwrap()).collect::<Vec<_>>()
    });
    assert!(names.iter().all(|name| *name == names[0] && name.len() == 32), "{names:?}");
}

#[test]
fn a_database_that_cannot_keep_every_text_is_refused() {
    let database = Database::fresh();
    database.run("create database latin encoding 'LATIN1' locale 'C' template template0");
    let latin =
        Database { address: database.address.replace("/t", "/latin?x=").split('?').next().unwrap().to_string() };
    let message = refused(&latin).to_string();
    assert!(message.contains("LATIN1") && message.contains("UTF8"), "{message}");
}

#[test]
fn a_store_of_a_newer_duly_is_refused() {
    let database = Database::fresh();
    drop(open(&database));
    database.run("update duly.meta set value = '99' where key = 'schema_version'");
    assert!(matches!(refused(&database), StoreError::Newer { found: 99, .. }));
}

#[test]
fn what_else_is_in_the_database_is_left_alone() {
    let database = Database::fresh();
    database.run("create table public.job (theirs int)");
    let mut owner = Owner::new(open(&database));
    owner.step().unwrap();
    database.run("insert into public.job values (1)");

    for theirs in ["create table duly.other (x int)", "create table duly.meta (key text, value text)"] {
        let database = Database::fresh();
        database.run("create schema duly");
        database.run(theirs);
        let message = refused(&database).to_string();
        assert!(message.contains("another program") && message.contains("another database"), "{message}");
        assert_eq!(
            database.run(
                "select 1 from pg_class c join pg_namespace n on n.oid = c.relnamespace
            where n.nspname = 'duly' and c.relkind = 'r'"
            ),
            1,
            "their schema was touched"
        );
    }
}

#[test]
fn the_number_of_shards_is_fixed_when_the_store_is_made() {
    let database = Database::fresh();
    drop(PgStore::open(&database.address, &Options { shards: 3, ..Options::default() }).unwrap());
    let mut store = PgStore::open(&database.address, &Options { shards: 9, ..Options::default() }).unwrap();
    assert_eq!(store.shards(), 3);
    assert!(store.take_over(ShardId(2)).is_ok());
    assert!(store.take_over(ShardId(3)).is_ok(), "a tenant may have it for its own");
    assert!(store.take_over(ShardId(model::SHARDS_MAX)).is_err());
}

#[test]
fn a_database_that_cannot_be_reached_is_named_without_its_password() {
    let nowhere = "postgres://ann:s3cret@127.0.0.1:1/jobs";
    let message = PgStore::open(nowhere, &Options::default()).err().unwrap().to_string();
    assert!(message.contains("127.0.0.1:1/jobs") && !message.contains("s3cret"), "{message}");
    let database = Database { address: Database::fresh().address.replace("/t", "/missing") };
    let message = refused(&database).to_string();
    assert!(message.contains("createdb"), "{message}");
}

#[test]
fn a_read_only_database_says_so_and_is_tried_again() {
    let database = Database::fresh();
    let mut owner = Owner::new(open(&database));
    owner.step().unwrap();
    let name = database.address.rsplit('/').next().unwrap().to_string();
    database.run(&format!("alter database {name} set default_transaction_read_only = on"));
    let cut = "select pg_terminate_backend(pid) from pg_stat_activity
               where application_name = 'duly' and datname = current_database()";
    database.run(cut);
    let told = eventually("the replica is noticed", || match owner.step() {
        Err(CommitError::Retry(why)) if why.contains("primary") => Some(why),
        Err(CommitError::Retry(_)) => None,
        other => panic!("{other:?}"),
    });
    assert!(told.contains("replica"), "{told}");
    let back = format!("{}?options=-c%20default_transaction_read_only%3Doff", database.address);
    Database { address: back }.run(&format!("alter database {name} reset default_transaction_read_only"));
    eventually("it is written again", || owner.step().ok());
    assert_eq!(owner.open(), [2]);
}

#[test]
fn a_connection_that_was_cut_is_made_again() {
    let database = Database::fresh();
    let mut owner = Owner::new(open(&database));
    let reads = owner.store.reads().unwrap();
    for round in 1..=5 {
        owner.step().unwrap();
        assert!(reads.instance(InstanceId(round), soon()).unwrap().is_some());
        database.run(
            "select pg_terminate_backend(pid) from pg_stat_activity
            where application_name = 'duly' and datname = current_database()",
        );
        // Reads and errands do not even notice; a commit that had not begun is sent again by its owner.
        assert!(reads.instance(InstanceId(round), soon()).unwrap().is_some());
        assert_eq!(owner.store.standing(ShardId(0)).unwrap().batch, Batch(round));
    }
    database.run(
        "select pg_terminate_backend(pid) from pg_stat_activity
        where application_name = 'duly' and datname = current_database()",
    );
    assert!(matches!(owner.step(), Err(CommitError::Retry(_))));
    owner.step().unwrap();
    assert_eq!(owner.open(), [6]);
}

/// Kills the database under a writer that never rests. Whatever an answer says, the standing tells the truth.
#[test]
fn nothing_is_lost_or_doubled_when_the_database_dies() {
    let cluster = Cluster::start();
    let database = cluster.database();
    let mut owner = Owner::new(open(&database));
    let kills = std::sync::atomic::AtomicU64::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in 0..6 {
                std::thread::sleep(Duration::from_millis(200 + 37 * n)); // the moment of the crash
                cluster.kill_a_backend();
                kills.fetch_add(1, Ordering::Relaxed);
                eventually("it is back", || PgStore::open(&database.address, &Options::default()).ok());
            }
        });
        let (mut troubles, end) = (0, soon());
        while kills.load(Ordering::Relaxed) < 6 || troubles == 0 {
            assert!(Instant::now() < end, "it does not come back");
            let commit = owner.next();
            match owner.store.commit(&commit) {
                Ok(_) => {
                    owner.batch += 1;
                    continue;
                }
                Err(CommitError::Retry(_) | CommitError::Unknown(_)) => troubles += 1,
                Err(other) => panic!("{other}"),
            }
            let stands = eventually("it answers again", || owner.store.standing(ShardId(0)).ok());
            let (at, before) = (stands.batch.0, owner.batch);
            assert!(at == before || at == before + 1, "{at} after {before}");
            owner.batch = at;
        }
    });
    let last = owner.batch;
    let stood = eventually("it answers again", || owner.store.load(ShardId(0)).ok());
    assert_eq!(stood.open.iter().map(|i| i.id.0).collect::<Vec<_>>(), [last]);
    let reads = owner.store.reads().unwrap();
    let ledger = reads.ledger(JobId(1), row(0).planned, row(0).planned + Span::DAY, soon()).unwrap();
    assert_eq!(ledger.iter().map(|entry| entry.instance.0).collect::<Vec<_>>(), (1..=last).collect::<Vec<_>>());
}

/// Cut off while the last word is under way, once before and once after it has taken effect.
#[test]
fn a_commit_whose_answer_is_lost_is_not_guessed() {
    let cluster = Cluster::start();
    let database = cluster.database();
    let mut owner = Owner::new(open(&database));
    owner.step().unwrap();
    let cut_while = |owner: &mut Owner<PgStore>, waits: &str| {
        let cut = format!("select pg_terminate_backend(pid) from pg_stat_activity where wait_event = '{waits}'");
        loop {
            let outcome = std::thread::scope(|scope| {
                let committing = scope.spawn(|| owner.step());
                let over = || committing.is_finished() || database.run(&cut) == 1;
                eventually("it waits at its commit", || over().then_some(()));
                committing.join().unwrap()
            });
            // A setting is kept by all of the database's processes only a moment after it was changed.
            if let Err(why) = outcome {
                return why;
            }
        }
    };
    database.run(
        "create function slow() returns trigger language plpgsql as $$ begin perform pg_sleep(20); return null; end $$",
    );
    database.run(
        "create constraint trigger slow after update on duly.shard deferrable initially deferred
         for each row execute function slow()",
    );
    let outcome = cut_while(&mut owner, "PgSleep");
    assert!(matches!(outcome, CommitError::Unknown(_)), "{outcome:?}");
    assert_eq!(owner.store.standing(ShardId(0)).unwrap().batch.0, owner.batch, "it never happened");
    database.run("drop trigger slow on duly.shard");

    // It is on this disk, and waits for a replica that is not there.
    database.run("alter system set synchronous_standby_names = 'nobody'");
    database.run("select pg_reload_conf()");
    let outcome = cut_while(&mut owner, "SyncRep");
    assert!(matches!(outcome, CommitError::Unknown(_)), "{outcome:?}");
    database.run("alter system reset synchronous_standby_names");
    database.run("select pg_reload_conf()");
    assert_eq!(owner.store.standing(ShardId(0)).unwrap().batch.0, owner.batch + 1, "it did happen");
    owner.batch += 1;
    owner.step().unwrap();
    assert_eq!(owner.open(), [owner.batch]);
}

#[test]
fn a_take_over_waits_for_a_commit_under_way() {
    let database = Database::fresh();
    let mut old = Owner::new(open(&database));
    old.step().unwrap();
    let mut new = open(&database);
    std::thread::scope(|scope| {
        let going_on = scope.spawn(|| {
            loop {
                match old.step() {
                    Ok(()) => {}
                    Err(CommitError::NotOwner { .. }) => return old.batch,
                    Err(other) => panic!("{other}"),
                }
            }
        });
        let own = new.take_over(ShardId(0)).unwrap();
        let last = going_on.join().unwrap();
        assert_eq!(own.standing.batch.0, last, "what was answered before the take-over is there, nothing after it");
        assert_eq!(new.load(ShardId(0)).unwrap().open.len(), 1);
    });
}

/// Shards share tables, days and contents; their writers never get in each other's way for long.
#[test]
fn shards_are_written_side_by_side() {
    const EACH: i64 = 300;
    let database = Database::fresh();
    let options = Options { shards: 4, ..Options::default() };
    let params = PgStore::open(&database.address, &options).unwrap().intern(&[b"shared".to_vec()]).unwrap()[0];
    std::thread::scope(|scope| {
        for shard in 0..4 {
            let (database, options) = (&database, &options);
            scope.spawn(move || {
                let mut store = PgStore::open(&database.address, options).unwrap();
                let own = store.take_over(ShardId(shard)).unwrap();
                let first = store.take_ids(None, EACH).unwrap().start;
                for n in 0..EACH {
                    let mut new = created(first + n);
                    new.row.job = JobId(shard + 1);
                    // Days that nobody has made yet, the same ones for all.
                    new.row.planned = row(n).planned + Span(Span::DAY.0 * (n / 30));
                    new.params = Some(params);
                    let name = ClaimName::Key { tenant: TenantId(1), key: format!("k{n}") };
                    let commit = Commit {
                        shard: ShardId(shard),
                        term: own.term,
                        batch: Batch(n + 1),
                        horizon: new.row.planned,
                        next_id: first + n + 1,
                        changes: vec![Change::Created(new)],
                        claims: vec![Claim { name, holder: shard, at: Timestamp(0) }],
                    };
                    loop {
                        match store.commit(&commit) {
                            Ok(answers) => {
                                let Answer::Claim(claim) = &answers[0] else { panic!("{answers:?}") };
                                break assert!((0..4).contains(&claim.holder));
                            }
                            Err(CommitError::Retry(why)) => println!("again: {why}"),
                            Err(other) => panic!("{other}"),
                        }
                    }
                }
            });
        }
    });
    let reads = PgStore::open(&database.address, &options).unwrap().reads().unwrap();
    let all = reads.instances(&InstanceFilter { limit: 5_000, ..Default::default() }, soon()).unwrap();
    assert_eq!(all.len() as i64, 4 * EACH);
}

/// A shard whose owner changes every few seconds is loaded as fast after an hour as at first: each owner goes on where the
/// one before had come to.
#[test]
fn what_a_take_over_reads_does_not_grow_with_the_history() {
    let database = Database::fresh();
    let mut owner = Owner::new(open(&database));
    for _ in 0..3 {
        // More than a block of ids, a second for each; the owner is gone before anything is a minute old for it.
        for _ in 0..4_200 {
            owner.step().unwrap();
        }
        let now = row(owner.batch).planned;
        owner = Owner::new(open(&database));
        while owner.store.tidy(ShardId(0), now).unwrap() {}
    }
    let (newest, mark) = (owner.batch, &database.texts("select low_water::text from duly.shard")[0]);
    assert!(mark.parse::<i64>().unwrap() > newest - 4_200, "{mark} of {newest}");
    assert_eq!(owner.open(), [newest]);
}

/// As memory decides them: one row more than once, a planned time freed and used again.
#[test]
fn changes_of_one_batch_happen_in_their_order() {
    let database = Database::fresh();
    let mut owner = Owner::new(open(&database));
    let again =
        Created { row: engine::change::Row { id: InstanceId(3), ..row(1) }, attempt: AttemptId(3), ..created(3) };
    let stop = |n: i64| Change::Stopping { row: row(n), by: Actor("ann".into()), at: row(n).planned };
    let (third, second) = (again.row, created(2));
    let mut commit = owner.commit_of(vec![
        Change::Created(created(1)),
        Change::Created(second),
        Change::Withdrawn { row: row(1) },
        Change::Created(again),
        stop(2),
        ended(2),
        Change::Stopping { row: third, by: Actor("ann".into()), at: third.planned },
    ]);
    commit.next_id = 9;
    owner.store.commit(&commit).unwrap();
    assert_eq!(owner.open(), [3]);
    let reads = owner.store.reads().unwrap();
    let two = reads.instance(InstanceId(2), soon()).unwrap().unwrap();
    assert_eq!((two.state, two.stopping), (State::Succeeded, Some(Actor("ann".into()))));
}

#[test]
fn words_a_database_cannot_keep_are_kept_without_what_it_cannot() {
    let database = Database::fresh();
    let mut owner = Owner::new(open(&database));
    owner.step().unwrap();
    let Change::Ended(mut end) = ended(1) else { unreachable!() };
    end.why = Some("it said \0 and more".into());
    let commit = owner.commit_of(vec![Change::Ended(end)]);
    owner.store.commit(&commit).unwrap();
    let kept = owner.store.reads().unwrap().instance(InstanceId(1), soon()).unwrap().unwrap();
    assert_eq!(kept.why.as_deref(), Some("it said \u{fffd} and more"));
}

#[test]
fn a_read_ends_at_its_deadline() {
    let database = Database::fresh();
    let mut owner = Owner::new(open(&database));
    let many: Vec<Change> = (1..=20_000).map(|n| Change::Created(created(n))).collect();
    let mut commit = owner.commit_of(many);
    commit.next_id = 20_001;
    owner.store.commit(&commit).unwrap();
    let reads = owner.store.reads().unwrap();
    let rare = InstanceFilter { states: vec![State::Running, State::Succeeded], limit: 1, ..Default::default() };
    for within in [0, 1, 2] {
        let late = reads.instances(&rare, Instant::now() + Duration::from_millis(within));
        let late = late.map(|found| found.len());
        assert!(matches!(&late, Ok(0)) || late.is_err_and(|e| e.to_string().contains("took too long")), "{within} ms");
    }
    assert!(reads.instances(&rare, Instant::now()).is_err());
    assert!(reads.instances(&rare, soon()).unwrap().is_empty(), "the connection is as good as before");
}
