//! An embedded store is moved into PostgreSQL: everything is there as it was, nothing starts on half of it.

use std::path::Path;
use std::time::{Duration, Instant};

use duly_store::access::Access;
use duly_store::people::{Account, AccountKind, PeopleChange};
use duly_store::postgres::{Options, PgStore};
use duly_store::read::{InstanceFilter, JobFilter, NoteFilter};
use duly_store::sqlite::{FILE, SqliteStore};
use duly_store::{Reads, Store, StoreError, migrate_store};
use engine::TicketId;
use engine::change::{Change, Claim, ClaimName, Created, Draw, Fate, Gap, Note, NoteKind, Row};
use model::*;

#[path = "support/cluster.rs"]
mod cluster;
mod support;

use cluster::Database;
use support::{Owner, created};

const JOBS: i64 = 200;

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(30)
}

/// Many jobs, each with a run that ended, one that failed the day before, and some with one that is open.
fn fill(data: &Path) -> Vec<JobId> {
    let mut owner = Owner::new(SqliteStore::open(data, &Default::default()).unwrap());
    let ids = owner.store.take_ids(Some(ShardId(0)), 100_000).unwrap();
    let mut next = ids.start;
    let mut id = || {
        next += 1;
        next
    };
    let bodies: Vec<Vec<u8>> =
        (0..JOBS + 2).map(|n| format!("body {n} \0 with what no text may hold").into_bytes()).collect();
    let contents = owner.store.intern(&bodies).unwrap();
    let mut jobs = Vec::new();
    let (mut changes, mut claims) = (Vec::new(), Vec::new());
    for n in 0..JOBS {
        let job = JobId(id());
        let record = JobRecord {
            id: job,
            tenant: TenantId(1),
            name: format!("job {n}"),
            version: VersionId(id()),
            rule: contents[n as usize],
            task: contents[JOBS as usize],
            source: contents[JOBS as usize + 1],
            folder: "ops".into(),
            labels: Default::default(),
            mode: JobMode::Enabled,
            since: Timestamp(1),
            fired: 3,
            changed_by: "ann".into(),
            alias: 1 + n as i32,
        };
        let name = ClaimName::JobName { tenant: TenantId(1), name: record.name.clone() };
        claims.push(Claim { name, holder: job.0, at: Timestamp(5) });
        changes.push(Change::JobPut(Box::new(record)));
        jobs.push(job);
    }
    for (n, job) in jobs.iter().enumerate() {
        for day in 0..3 {
            let number = id();
            let planned = support::row(n as i64).planned + Span(day * Span::DAY.0);
            let row = Row { id: InstanceId(number), job: *job, planned };
            changes.push(Change::Created(Created {
                row,
                version: VersionId(job.0 + 1),
                attempt: AttemptId(number),
                ..created(number)
            }));
            let Change::Ended(mut end) = support::ended(number) else { unreachable!() };
            end.row = row;
            end.why = Some("it said \0 and ü".into());
            if day == 1 {
                end.ending = Ending::Failed(Failure::Exit);
            }
            if day < 2 || n % 3 > 0 {
                changes.push(Change::Ended(end));
            }
        }
    }
    let gap = Gap {
        job: jobs[7],
        tenant: TenantId(1),
        first: Timestamp(10),
        last: Timestamp(20),
        count: 2,
        fate: Fate::Skipped(SkipReason::Overlap),
        why: "busy".into(),
    };
    changes.push(Change::Gap(gap));
    changes.push(Change::Note(Note {
        at: Timestamp(9),
        job: Some(jobs[3]),
        instance: None,
        kind: NoteKind::ClockJumped { by: Span(4) },
    }));
    changes.push(Change::GlobalLimit { limit: Some(17) });
    changes.push(Change::PoolPut(PoolRecord {
        tenant: TenantId(1),
        name: "p".into(),
        limit: Some(2),
        addresses: vec!["x".into()],
    }));
    changes.push(Change::TenantPut(Box::new(TenantRecord { weight: 4, ..TenantRecord::first(Timestamp(5)) })));
    changes.push(Change::TenantPut(Box::new(TenantRecord::new(
        TenantId(4_000_000),
        "acme",
        Timestamp(6),
        Actor("ann".into()),
    ))));
    let mut commit = owner.commit_of(changes);
    (commit.claims, commit.next_id, commit.horizon) =
        (claims, next + 1, support::row(0).planned + Span(3 * Span::DAY.0));
    owner.store.commit(&commit).unwrap();
    let mut access = owner.store.access().unwrap();
    let ann = Account {
        name: "ann".into(),
        kind: AccountKind::Person,
        password: Some("kept as a hash".into()),
        must_change: false,
        subject: None,
        disabled_at: None,
        created_at: Timestamp(1),
        created_by: "ann".into(),
    };
    access.change(&PeopleChange::Administrator(ann)).unwrap();
    access.put_setting("theme", Some("dark")).unwrap();
    jobs
}

/// By the words of its rule a job follows the one with the number in it.
fn follows(rule: &[u8]) -> Vec<Follow> {
    let leader = std::str::from_utf8(rule).ok().and_then(|text| text.strip_prefix("follows ")?.parse().ok());
    leader.map(|job| Follow { job: JobId(job), on: On::Failure, each: false }).into_iter().collect()
}

fn everything(reads: &dyn Reads) -> (Vec<JobRecord>, Vec<Instance>, String) {
    let jobs = reads.jobs(&JobFilter { limit: 1_000, ..Default::default() }, soon()).unwrap();
    let runs = reads.instances(&InstanceFilter { limit: 5_000, ..Default::default() }, soon()).unwrap();
    let failed = InstanceFilter { states: vec![State::Failed], limit: 5_000, ..Default::default() };
    let day = (support::row(0).planned, support::row(0).planned + Span::DAY);
    let rest = (
        reads.gaps(None, Timestamp::MIN, Timestamp::MAX, soon()).unwrap(),
        reads.intervals(None, Timestamp::MIN, Timestamp::MAX, soon()).unwrap(),
        reads.notes(&NoteFilter { limit: 9, ..Default::default() }, soon()).unwrap(),
        (reads.pools(soon()).unwrap(), reads.tenants(soon()).unwrap()),
        reads.global_limit(soon()).unwrap(),
        reads.horizon(soon()).unwrap(),
        reads.counts(None, day.0, day.1, soon()).unwrap(),
        reads.instances(&failed, soon()).unwrap().len(),
        reads.content(ContentId(2), soon()).unwrap(),
    );
    (jobs, runs, format!("{rest:?}"))
}

#[test]
fn a_moved_store_is_what_it_was() {
    let (dir, database) = (tempfile::tempdir().unwrap(), Database::fresh());
    let jobs = fill(dir.path());
    let old = SqliteStore::open(dir.path(), &Default::default()).unwrap();
    let installation = old.installation().unwrap();
    let mut before = everything(&old.reads().unwrap());
    drop(old);
    for run in &mut before.1 {
        run.why = run.why.as_ref().map(|why| why.replace('\0', "\u{fffd}"));
    }

    let moved = migrate_store(dir.path(), &database.address, &follows).unwrap();
    let of = |table: &str| moved.tables.iter().find(|(name, _)| name == table).unwrap().1;
    assert_eq!((of("job"), of("instance"), of("person"), moved.days), (200, 600, 1, 3));
    assert_eq!(moved.open, 67);
    assert!(!dir.path().join(FILE).exists() && Path::new(&moved.aside).exists(), "nobody starts on it by mistake");

    let mut store = PgStore::open(&database.address, &Options::default()).unwrap();
    assert_eq!((store.installation().unwrap(), store.shards()), (installation, 64));
    let reads = store.reads().unwrap();
    let after = everything(&reads);
    assert_eq!(after.0, before.0);
    assert_eq!(after.1, before.1);
    assert_eq!(after.2, before.2);
    assert_eq!(store.access().unwrap().setting("theme").unwrap().as_deref(), Some("dark"));
    let (mut found, mut open, mut used) = (Vec::new(), 0, 0);
    for shard in (0..64).map(ShardId) {
        let own = store.take_over(shard).unwrap();
        assert!(own.term.0 > 1_000, "no agent has seen a higher one: {:?}", own.term);
        let loaded = store.load(shard).unwrap();
        assert!(loaded.jobs.iter().all(|job| shard_of(job.id, 64) == shard));
        assert!(loaded.open.iter().all(|run| shard_of(run.job, 64) == shard));
        assert!(loaded.unreadable.is_empty(), "{:?}", loaded.unreadable);
        found.extend(loaded.jobs.iter().map(|job| job.id));
        open += loaded.open.len();
        used += usize::from(!loaded.jobs.is_empty());
    }
    found.sort_unstable();
    assert_eq!((found, open), (jobs, 67));
    assert!(used > 50, "they are spread: {used}");
    let newest = after.1.iter().map(|run| run.id.0).max().unwrap();
    assert!(store.take_ids(Some(ShardId(1)), 1).unwrap().start > newest);
    assert!(store.intern(&[b"new".to_vec()]).unwrap()[0].0 > JOBS, "a number that is free");
    assert!(store.take_aliases(1).unwrap().start >= 1);
}

/// What is held stays held, who waits keeps its place, and whoever follows is known where the job is that it follows.
#[test]
fn lines_and_followers_go_with_their_jobs() {
    let (dir, database) = (tempfile::tempdir().unwrap(), Database::fresh());
    let jobs = fill(dir.path());
    let mut owner = Owner::new(SqliteStore::open(dir.path(), &Default::default()).unwrap());
    let need = |name: &str, kind, units| Need { kind, name: name.into(), units };
    let (gate, seats) = (need("gate", ResourceKind::Mutex, 1), |units| need("seat", ResourceKind::Counted, units));
    let draw = |n: usize, needs: &[Need]| {
        let (ticket, instance, at) = (TicketId(n as i64), InstanceId(n as i64), Timestamp(n as i64));
        Change::Drawn(Box::new(Draw { ticket, tenant: TenantId(1), job: jobs[n], instance, needs: needs.to_vec(), at }))
    };
    let of = |need: &Need| need.of(TenantId(1));
    let rule = owner.store.intern(&[format!("follows {}", jobs[0].0).into_bytes()]).unwrap()[0];
    let reads = owner.store.reads().unwrap();
    let record = |at: usize| reads.jobs(&JobFilter { limit: 1_000, ..Default::default() }, soon()).unwrap()[at].clone();
    let ids = owner.store.take_ids(Some(ShardId(0)), 100).unwrap();
    let version = |at: usize| VersionId(ids.start + at as i64);
    let fans: Vec<JobRecord> =
        (10..40).map(|at| JobRecord { rule, version: version(at), since: Timestamp(9), ..record(at) }).collect();
    let mut changes = vec![
        Change::ResourcePut { name: of(&seats(0)), units: 3 },
        draw(1, &[gate.clone(), seats(1)]),
        draw(2, std::slice::from_ref(&gate)),
        draw(3, &[seats(3)]),
        draw(4, &[gate.clone(), seats(1)]),
    ];
    changes.extend(fans.iter().cloned().map(|fan| Change::JobPut(Box::new(fan))));
    let commit =
        engine::Commit { next_id: ids.end, horizon: reads.horizon(soon()).unwrap(), ..owner.commit_of(changes) };
    owner.store.commit(&commit).unwrap();
    let line = |reads: &dyn Reads, need: &Need| {
        let line = reads.line(&of(need), 9, soon()).unwrap();
        line.iter().map(|t| (t.instance.0, t.units, t.held, t.at, t.job)).collect::<Vec<_>>()
    };
    let before = [&gate, &seats(0)].map(|need| line(&reads, need));
    assert_eq!(
        before[0].iter().map(|(n, _, held, ..)| (*n, *held)).collect::<Vec<_>>(),
        [(1, true), (2, false), (4, false)]
    );
    drop((owner, reads));
    migrate_store(dir.path(), &database.address, &follows).unwrap();

    let mut store = PgStore::open(&database.address, &Options::default()).unwrap();
    let reads = store.reads().unwrap();
    assert_eq!([&gate, &seats(0)].map(|need| line(&reads, need)), before);
    let home = shard_of(jobs[0], 64);
    let (mut held, mut known) = (Vec::new(), Vec::new());
    let mut terms = std::collections::BTreeMap::new();
    for shard in (0..64).map(ShardId) {
        terms.insert(shard, store.take_over(shard).unwrap().term);
        let loaded = store.load(shard).unwrap();
        held.extend(loaded.tickets.iter().map(|ticket| (ticket.instance.0, shard, ticket.held)));
        known.extend(loaded.followers.iter().map(|(job, follower, ends)| (shard, *job, *follower, *ends)));
    }
    held.sort_unstable();
    let ours: Vec<_> = (1..5).map(|n| shard_of(jobs[n], 64)).collect();
    let expected = [
        (1, ours[0], true),
        (1, ours[0], true),
        (2, ours[1], false),
        (3, ours[2], false),
        (4, ours[3], false),
        (4, ours[3], false),
    ];
    assert_eq!(held, expected, "each in the shard of its job");
    let ends = engine::Ends::of(&follows(format!("follows {}", jobs[0].0).as_bytes()), jobs[0]);
    let mut fans: Vec<_> =
        fans.iter().filter(|fan| shard_of(fan.id, 64) != home).map(|fan| (home, jobs[0], fan.id, ends)).collect();
    fans.sort_by_key(|fan| fan.2);
    known.sort_by_key(|fan| fan.2);
    assert!(fans.len() > 20);
    assert_eq!(known, fans, "each at the shard of the one it follows");

    // The line goes on where it stood.
    let draw = Draw {
        ticket: TicketId(1),
        tenant: TenantId(1),
        job: jobs[1],
        instance: InstanceId(1),
        needs: vec![gate.clone(), seats(1)],
        at: Timestamp(1),
    };
    let commit = engine::Commit {
        shard: ours[0],
        term: terms[&ours[0]],
        batch: Batch(1),
        changes: vec![Change::Returned(Box::new(draw))],
        ..commit
    };
    store.commit(&commit).unwrap();
    assert!(line(&reads, &gate)[0].0 == 2 && line(&reads, &gate)[0].2, "{:?}", line(&reads, &gate));
    assert!(line(&reads, &seats(0))[0].0 == 3 && line(&reads, &seats(0))[0].2);
}

#[test]
fn only_an_empty_store_is_filled() {
    let (dir, database) = (tempfile::tempdir().unwrap(), Database::fresh());
    fill(dir.path());
    let mut used = PgStore::open(&database.address, &Options::default()).unwrap();
    used.take_over(ShardId(3)).unwrap();
    let refused = migrate_store(dir.path(), &database.address, &follows).unwrap_err();
    assert!(matches!(&refused, StoreError::Failed(why) if why.contains("not empty")), "{refused}");
    assert!(dir.path().join(FILE).exists(), "it stays where it is");
    let nothing = migrate_store(&dir.path().join("nowhere"), &database.address, &follows).unwrap_err().to_string();
    assert!(nothing.contains("no embedded store"), "{nothing}");
}

#[test]
fn a_move_that_was_cut_short_is_begun_again() {
    let (dir, database) = (tempfile::tempdir().unwrap(), Database::fresh());
    fill(dir.path());
    // It is cut in the middle of the instances: the third day cannot be made.
    drop(PgStore::open(&database.address, &Options::default()).unwrap());
    database.run("create function stop() returns trigger language plpgsql as $$ begin raise 'no more'; end $$");
    database.run(
        "create trigger stop before insert on duly.day for each row when (new.day > 20001) execute function stop()",
    );
    let cut = migrate_store(dir.path(), &database.address, &follows).unwrap_err();
    assert!(cut.to_string().contains("no more"), "{cut}");
    let refused =
        PgStore::open(&database.address, &Options::default()).err().expect("half a store is none").to_string();
    assert!(refused.contains("migrate-store again"), "{refused}");

    let elsewhere = tempfile::tempdir().unwrap();
    fill(elsewhere.path());
    let other = migrate_store(elsewhere.path(), &database.address, &follows).unwrap_err().to_string();
    assert!(other.contains("not empty"), "another's copy is not ours to throw away: {other}");

    let moved = migrate_store(dir.path(), &database.address, &follows).unwrap();
    assert_eq!(moved.open, 67);
    let reads = PgStore::open(&database.address, &Options::default()).unwrap().reads().unwrap();
    assert_eq!(reads.jobs(&JobFilter { limit: 1_000, ..Default::default() }, soon()).unwrap().len(), 200);

    // The last step, once more: whole there, and still here.
    std::fs::rename(&moved.aside, dir.path().join(FILE)).unwrap();
    assert_eq!(migrate_store(dir.path(), &database.address, &follows).unwrap().aside, moved.aside);
}
