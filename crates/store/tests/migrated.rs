//! A store in PostgreSQL as an older Duly left it, brought up to today's layout: by several programs that start at once, while
//! the older one still writes.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{Duration, Instant};

use duly_store::Store;
use duly_store::postgres::{Options, PgStore};
use model::*;

use self::cluster::Database;

#[path = "support/cluster.rs"]
mod cluster;

/// The layout that had shards and what they tell each other, and neither tenants nor roles nor labels.
const OLD: [&str; 3] = [
    include_str!("../src/postgres/migrations/0001_begin.sql"),
    include_str!("../src/postgres/migrations/0002_shards.sql"),
    include_str!("../src/postgres/migrations/0003_between.sql"),
];

/// Nothing here takes that long.
const PATIENCE: Duration = Duration::from_secs(60);
const MIDNIGHT: i64 = 20_000 * Span::DAY.0;

/// Two people, one of them signed in, and three jobs: with labels, without, and with a text that jsonb does not take.
const FILLED: &str = r#"
insert into meta (key, value) values ('schema_version', '3'), ('shards', '4');
insert into lease (shard) select generate_series(0, 3);
insert into person (name, password, created_at) values ('ann', 'hash', 7), ('bob', 'hash', 8);
insert into session (hash, person, created_at, expires_at) values ('\x01', 'ann', 10, 900);
insert into api_token (hash, name, person, created_at) values ('\x02', 'deploy', 'bob', 11);
insert into content (id, hash, body, refs, touched_at) values
    (1, '\x01', convert_to('{"name": "close", "labels": {"team": "books"}}', 'UTF8'), 1, 0),
    (2, '\x02', convert_to('{"name": "open"}', 'UTF8'), 1, 0),
    (3, '\x03', convert_to('{"name": "odd", "labels": {"team": "a\u0000b"}}', 'UTF8'), 1, 0),
    (4, '\x04', convert_to('name: text', 'UTF8'), 1, 0);
insert into job (id, shard, tenant, name, version, rule, task, source, folder, mode, since, fired, changed_by)
select n, 0, 1, 'job ' || n, n, 2, 2, n, '', 1, 0, 0, 'ann' from generate_series(1, 4) as n;
insert into shard (id, term, batch, horizon, next_id) values (0, 1, 0, 0, 1);
insert into day (day) values (20000);
insert into block (no, day, shard, planned_from, planned_until) values (0, 20000, 0, 1728000000000000, 1728000099999999);
"#;

fn older() -> Database {
    let database = Database::fresh();
    let day = include_str!("../src/postgres/sql/create_day.sql")
        .replace("instance_day", "instance_d20000")
        .replace("first_instant", &MIDNIGHT.to_string())
        .replace("last_instant", &(MIDNIGHT + Span::DAY.0).to_string());
    database.script(&format!("create schema duly; set search_path = duly; {} {FILLED} {day}", OLD.join("\n")));
    database
}

/// What the older program does for run n: its shard's row first, then the instance.
fn old_commit(n: i64) -> String {
    format!(
        "begin;
         set local lock_timeout = '5s';
         update duly.shard set batch = {n}, horizon = {at}, next_id = {n} + 1 where id = 0 and term = 1 and batch = {n} - 1;
         insert into duly.instance_d20000 (id, shard, tenant, job, version, planned, part, parts, cause, state, attempt,
             attempt_no, created_at)
         values ({n}, 0, 1, 1, 1, {at}, 0, 1, 1, 1, {n}, 1, {at});
         update duly.job set fired = {n} where id = 1;
         commit",
        at = MIDNIGHT + n
    )
}

fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "never happened: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn many_programs_bring_an_older_store_up_once_while_its_server_writes() {
    let database = older();
    database.script(
        "create table public.taken (version text);
         create function public.note() returns trigger language plpgsql as
             $$ begin insert into public.taken values (new.value); return null; end $$;
         create trigger note after update on duly.meta for each row when (new.key = 'schema_version')
             execute function public.note()",
    );
    let (written, stop) = (AtomicI64::new(0), AtomicBool::new(false));
    let end = Instant::now() + PATIENCE * 3;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) && Instant::now() < end {
                let n = written.load(Ordering::Relaxed) + 1;
                database.script(&old_commit(n));
                written.store(n, Ordering::Relaxed);
            }
        });
        eventually("the older server writes", || written.load(Ordering::Relaxed) > 3);
        let starts: Vec<_> = (0..5)
            .map(|_| scope.spawn(|| PgStore::open(&database.address, &Options::default()).map(|store| store.shards())))
            .collect();
        for start in starts {
            assert_eq!(start.join().unwrap().unwrap(), 4, "the number of shards stays");
        }
        let then = written.load(Ordering::Relaxed);
        eventually("it goes on writing", || written.load(Ordering::Relaxed) > then + 3);
        stop.store(true, Ordering::Relaxed);
    });

    let steps: Vec<String> = (4..=10).map(|version| version.to_string()).collect();
    assert_eq!(database.texts("select version from public.taken order by version::int"), steps, "each step once");
    let mut store = PgStore::open(&database.address, &Options::default()).unwrap();
    let last = written.into_inner();
    let standing = store.take_over(ShardId(0)).unwrap().standing;
    assert_eq!((standing.term, standing.batch), (Term(2), Batch(last)));
    let open: Vec<i64> = store.load(ShardId(0)).unwrap().open.iter().map(|instance| instance.id.0).collect();
    assert_eq!(open, (1..=last).collect::<Vec<_>>(), "what was written meanwhile is there, once");
    assert_eq!(
        database.texts("select fired || ' ' || name from duly.job order by id"),
        [format!("{last} job 1"), "0 job 2".into(), "0 job 3".into(), "0 job 4".into()]
    );
}

#[test]
fn whoever_was_known_keeps_what_they_could_do_and_labels_are_found() {
    let database = older();
    drop(PgStore::open(&database.address, &Options::default()).unwrap());
    let grants = "select person || ' ' || role || ' ' || labels || ' ' || created_at || ' ' || created_by
        from duly.access_grant where tenant is null and member_of is null order by id";
    assert_eq!(database.texts(grants), ["ann platform_admin {} 7 ann", "bob platform_admin {} 8 bob"]);
    let people = "select name || ' ' || password || ' ' || kind || ' ' || must_change from duly.person order by name";
    assert_eq!(database.texts(people), ["ann hash 1 0", "bob hash 1 0"], "persons, with the passwords they have");
    let sessions = "select person || ' ' || expires_at || ' ' || used_at || ' ' || way from duly.session";
    assert_eq!(database.texts(sessions), ["ann 900 900 1"], "it lasts as long as it would have");
    let tokens = "select name from duly.api_token where scope is null and tenant is null and revoked_at is null";
    assert_eq!(database.texts(tokens), ["deploy"], "what it may do is not narrowed");
    let labels = "select labels from duly.job order by id";
    assert_eq!(database.texts(labels), [r#"{"team": "books"}"#, "{}", "{}", "{}"]);
    assert_eq!(database.texts("select name from duly.tenant where id = 1"), ["default"]);
}

/// Every list and every commit reads `job`: nobody may wait for all labels to be found.
#[test]
fn jobs_are_read_and_written_while_their_labels_are_found() {
    let database = older();
    let halt = 4_242;
    // Whoever finds the labels of job 1 stands still there for as long as we hold this.
    database.script(&format!(
        "create function public.halt() returns trigger language plpgsql as
             $$ begin perform pg_advisory_xact_lock({halt}); return new; end $$;
         create trigger halt before update on duly.job for each row when (old.id = 1) execute function public.halt()"
    ));
    let (release, released) = std::sync::mpsc::channel::<()>();
    let held = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Ends with this scope, so that nobody stands still for ever.
        let release = release;
        let (address, is_held) = (&database.address, &held);
        scope.spawn(move || {
            cluster::connected(address, async |client| {
                client.batch_execute(&format!("select pg_advisory_lock({halt})")).await?;
                is_held.store(true, Ordering::Relaxed);
                let _ = released.recv();
                Ok(())
            })
        });
        eventually("we hold it", || held.load(Ordering::Relaxed));
        let opening = scope.spawn(|| PgStore::open(&database.address, &Options::default()).map(drop));
        let waits = "select pid::text from pg_locks where locktype = 'advisory' and objid = 4242 and not granted";
        eventually("labels are being found", || !database.texts(waits).is_empty());
        database
            .script("set lock_timeout = '1s'; select name from duly.job; update duly.job set fired = 5 where id = 2");
        drop(release);
        opening.join().unwrap().unwrap();
    });
    assert_eq!(database.texts("select labels from duly.job order by id"), [r#"{"team": "books"}"#, "{}", "{}", "{}"]);
    assert_eq!(database.texts("select fired::text from duly.job where id = 2"), ["5"]);
}
