//! What only the SQLite store promises: its file, its messages, its backups.

mod support;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use duly_store::read::{InstanceFilter, Reads};
use duly_store::sqlite::{FILE, Options, SqliteStore, backup, restore};
use duly_store::{Store, StoreError};
use engine::change::{Change, Created, Retried, Row};
use model::*;
use support::{Owner, created, ended_by, row};

const T0: Timestamp = Timestamp(20_000 * Span::DAY.0);

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(30)
}

fn open(dir: &Path) -> Result<SqliteStore, StoreError> {
    SqliteStore::open(dir, &Options::default())
}

fn refused(dir: &Path) -> String {
    open(dir).err().expect("it must not open").to_string()
}

#[test]
fn what_was_committed_is_there_after_a_crash() {
    let dir = tempfile::tempdir().unwrap();
    let mut owner = Owner::new(open(dir.path()).unwrap());
    for _ in 0..50 {
        owner.step().unwrap();
    }
    // Never closed: no checkpoint, the log is as the last commit left it.
    std::mem::forget(owner);
    let mut again = Owner::new(open(dir.path()).unwrap());
    assert_eq!((again.batch, again.open()), (50, vec![50]));
    assert_eq!(again.store.standing(ShardId(0)).unwrap().horizon, row(50).planned);
}

#[test]
fn only_its_owner_can_read_the_files() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("deep/data");
    let mut owner = Owner::new(open(&data).unwrap());
    owner.step().unwrap();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&data), 0o700);
    for file in std::fs::read_dir(&data).unwrap() {
        assert_eq!(mode(&file.unwrap().path()), 0o600);
    }
}

#[test]
fn a_directory_that_cannot_be_used_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "").unwrap();
    for bad in [file.as_path(), Path::new("/proc/duly")] {
        let message = refused(bad);
        assert!(message.contains(bad.to_str().unwrap()) && message.contains("name another one"), "{message}");
    }
    let not_a_file = dir.path().join("data");
    std::fs::create_dir_all(not_a_file.join(FILE)).unwrap();
    let message = refused(&not_a_file);
    assert!(message.contains(FILE) && message.contains("writable"), "{message}");
}

#[test]
fn a_damaged_file_is_called_damaged() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join(FILE), vec![7; 100_000]).unwrap();
    let message = refused(dir.path());
    assert!(message.contains("damaged") && message.contains(FILE) && message.contains("restore"), "{message}");
}

#[test]
fn a_store_of_a_newer_duly_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(dir.path()).unwrap());
    let conn = rusqlite::Connection::open(dir.path().join(FILE)).unwrap();
    conn.pragma_update(None, "user_version", 99).unwrap();
    assert!(matches!(open(dir.path()), Err(StoreError::Newer { found: 99, .. })));
    // Nor is it overwritten, or brought back.
    let message = restore(&dir.path().join(FILE), &dir.path().join("new"), T0, false).unwrap_err().to_string();
    assert!(message.contains("newer"), "{message}");
}

fn retried(n: i64, attempt: i64, next: i64) -> Change {
    let at = row(n).planned;
    Change::Retried(Box::new(Retried {
        row: row(n),
        attempt: AttemptId(attempt),
        attempt_no: if attempt == n { 1 } else { 2 },
        target: None,
        ordered_at: None,
        outcome: Outcome::of(Verdict::Failed, "it failed", at),
        next: AttemptId(next),
        retry_at: at,
        retries_used: if attempt == n { 1 } else { 2 },
    }))
}

/// Before the second step of its schema, attempts were all that was counted.
#[test]
fn an_older_store_is_brought_up_with_all_its_days() {
    let dir = tempfile::tempdir().unwrap();
    let mut owner = Owner::new(open(dir.path()).unwrap());
    let mut changes: Vec<Change> = (1..=3).map(|n| Change::Created(created(n))).collect();
    changes.push(Change::Created(Created { row: Row { planned: row(4).planned + Span::DAY, ..row(4) }, ..created(4) }));
    changes.extend([retried(1, 1, 10), retried(1, 10, 11), retried(2, 2, 12)]);
    changes.push(ended_by(2, 12));
    let mut commit = owner.commit_of(changes);
    commit.next_id = 20;
    owner.store.commit(&commit).unwrap();
    drop(owner);
    let conn = rusqlite::Connection::open(dir.path().join(FILE)).unwrap();
    for day in [20_000, 20_001] {
        conn.execute_batch(&format!("alter table instance_d{day} drop column retries_used")).unwrap();
    }
    conn.execute_batch(
        "alter table quarantine drop column decided;
         alter table agent drop column executor; alter table agent drop column listed; alter table agent drop column serves;
         alter table join_token drop column serves;
         alter table pool drop column addresses; drop index job_alias; alter table job drop column alias;
         alter table job drop column labels;
         delete from meta where key in ('next_alias', 'revision'); drop table executor_token; drop table lent;
         drop table outbox; drop table follower; drop table resource; drop table ticket; drop table tenant;
         drop table audit; drop table audit_about; drop table audit_head; drop table audit_begun;
         drop index person_subject; alter table person drop column kind; alter table person drop column must_change;
         alter table person drop column subject; alter table person drop column disabled_at;
         alter table person drop column created_by; alter table session drop column address;
         alter table session drop column program; alter table session drop column used_at;
         alter table session drop column way; alter table api_token drop column scope;
         alter table api_token drop column tenant; drop table access_group; drop table access_member;
         drop table access_role; drop table access_grant; drop table sign_in; drop table oidc_login;
         drop table variable; drop table secret",
    )
    .unwrap();
    conn.pragma_update(None, "user_version", 1).unwrap();
    drop(conn);

    let mut store = open(dir.path()).unwrap();
    let mut loaded = store.load(ShardId(0)).unwrap().open;
    loaded.sort_by_key(|instance| instance.id);
    let used: Vec<_> = loaded.iter().map(|instance| (instance.id.0, instance.retries_used)).collect();
    assert_eq!(used, [(1, 2), (3, 0), (4, 0)]);
    let ended = store.reads().unwrap().instance(InstanceId(2), soon()).unwrap().unwrap();
    assert_eq!((ended.attempt_no, ended.retries_used), (2, 0), "nobody asks what an ended one has used");
}

#[test]
fn another_programs_file_is_refused_and_stays_as_it_is() {
    for setting in ["", "pragma user_version = 1", "pragma user_version = 99", "pragma journal_mode = wal"] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE);
        let theirs = rusqlite::Connection::open(&path).unwrap();
        theirs.execute_batch(&format!("{setting}; create table theirs (x)")).unwrap();
        // As a crash leaves it: what they wrote last may still be beside the file.
        std::mem::forget(theirs);
        let before = std::fs::read(&path).unwrap();
        let message = refused(dir.path());
        assert!(message.contains("another program") && message.contains(FILE), "{message}");
        assert!(std::fs::read(&path).unwrap() == before, "their file was touched, with {setting:?}");
    }
}

#[test]
fn the_number_of_shards_is_fixed_when_the_store_is_made() {
    let dir = tempfile::tempdir().unwrap();
    drop(SqliteStore::open(dir.path(), &Options { shards: 3, ..Options::default() }).unwrap());
    let mut store = SqliteStore::open(dir.path(), &Options { shards: 9, ..Options::default() }).unwrap();
    assert_eq!(store.shards(), 3);
    assert!(store.take_over(ShardId(2)).is_ok());
    assert!(store.take_over(ShardId(3)).is_err());
}

#[test]
fn a_read_ends_at_its_deadline() {
    let dir = tempfile::tempdir().unwrap();
    let mut owner = Owner::new(open(dir.path()).unwrap());
    let many: Vec<Change> = (1..=20_000).map(|n| Change::Created(created(n))).collect();
    let mut commit = owner.commit_of(many);
    commit.next_id = 20_001;
    owner.store.commit(&commit).unwrap();
    let reads = owner.store.reads().unwrap();
    let rare = InstanceFilter { states: vec![State::Running, State::Succeeded], limit: 1, ..Default::default() };
    let late = reads.instances(&rare, Instant::now()).unwrap_err();
    assert!(matches!(&late, StoreError::Busy(why) if why.contains("took too long")), "{late}");
    assert!(reads.instances(&rare, soon()).unwrap().is_empty(), "the connection is as good as before");
}

#[test]
fn a_backup_taken_while_writing_is_one_moment() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let mut owner = Owner::new(open(&data).unwrap());
    owner.step().unwrap();
    let stop = AtomicBool::new(false);
    let (wrote, written) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                owner.step().unwrap();
                wrote.send(()).unwrap();
            }
        });
        for n in 0..8 {
            written.recv().expect("it goes on writing");
            backup(&data, &dir.path().join(format!("copy{n}"))).unwrap();
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(backup(&data, &dir.path().join("copy0")).unwrap_err().to_string().contains("exists already"));
    for n in 0..8 {
        let back = dir.path().join(format!("back{n}"));
        restore(&dir.path().join(format!("copy{n}")), &back, T0, false).unwrap();
        let mut owner = Owner::new(open(&back).unwrap());
        let last = owner.batch;
        assert_eq!(owner.open(), [last]);
        let reads = owner.store.reads().unwrap();
        let ledger = reads.ledger(JobId(1), T0, T0 + Span::DAY, soon()).unwrap();
        assert_eq!(ledger.len() as i64, last);
        owner.step().unwrap();
    }
}

#[test]
fn a_restored_store_knows_what_it_does_not_know() {
    let dir = tempfile::tempdir().unwrap();
    let (data, copy) = (dir.path().join("data"), dir.path().join("copy"));
    let mut owner = Owner::new(open(&data).unwrap());
    for _ in 0..5 {
        owner.step().unwrap();
    }
    let ids = owner.store.take_ids(None, 10).unwrap();
    // Planned after the moment of the restore: nobody can have started it.
    let tomorrow = Span::DAY + Span::HOUR;
    let mut ahead = created(4_000);
    ahead.row.planned = T0 + tomorrow;
    let mut commit = owner.commit_of(vec![Change::Created(ahead)]);
    commit.next_id = 4_001;
    owner.store.commit(&commit).unwrap();
    backup(&data, &copy).unwrap();

    let now = T0 + Span::DAY;
    let message = restore(&copy, &data, now, false).unwrap_err().to_string();
    assert!(message.contains("exists already"), "{message}");
    drop(owner);
    let restored = restore(&copy, &data, now, true).unwrap();
    assert_eq!(restored.uncertain, 1);

    let mut again = Owner::new(open(&data).unwrap());
    assert!(again.term.0 > 1000, "no owner since the backup had so high a term: {:?}", again.term);
    assert!(again.store.take_ids(None, 1).unwrap().start > ids.end + (1 << 31));
    let open = again.store.load(ShardId(0)).unwrap().open;
    let seen: Vec<_> = open.iter().map(|i| (i.id.0, i.uncertain.as_ref().map(|u| (u.since, u.why.as_str())))).collect();
    assert_eq!(seen, [(5, Some((now, "restored from backup"))), (4_000, None)]);
    let aside = std::fs::read_dir(&data)
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().contains("before-"));
    assert!(aside.count() >= 1, "what was there is kept");
}

#[test]
fn a_restore_that_was_cut_short_is_not_an_empty_store() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("duly.db.restoring"), "half").unwrap();
    assert!(refused(dir.path()).contains("interrupted"));
}

#[test]
fn what_is_no_backup_is_not_restored() {
    let dir = tempfile::tempdir().unwrap();
    let (text, theirs) = (dir.path().join("text"), dir.path().join("theirs"));
    std::fs::write(&text, vec![b'x'; 9_000]).unwrap();
    rusqlite::Connection::open(&theirs).unwrap().execute_batch("create table t (x)").unwrap();
    for bad in [&text, &theirs, &dir.path().join("missing")] {
        let message = restore(bad, &dir.path().join("data"), T0, false).unwrap_err().to_string();
        assert!(message.contains(bad.to_str().unwrap()), "{message}");
    }
    assert!(!dir.path().join("data").join(FILE).exists());
}
