//! The audit on both stores: one chain, whoever writes; nothing of it can be changed in passing.

use duly_store::audit::{AuditFilter, AuditLog, Begun, DONE, Draft, Label, OutcomeIs, Recorded, Writing};
use duly_store::postgres::PgStore;
use duly_store::sqlite::{Options, SqliteStore};
use model::audit::{Finding, Link, Mark, Sum, Walk, Walked};
use model::{TenantId, Timestamp};

#[path = "support/cluster.rs"]
mod cluster;

/// Opens the audit once more, as another server would.
type Open<'a> = &'a dyn Fn() -> Box<dyn AuditLog>;

fn on_each(test: impl Fn(Open)) {
    let dir = tempfile::tempdir().unwrap();
    test(&|| Box::new(SqliteStore::open(dir.path(), &Options::default()).unwrap().audit().unwrap()));
    let database = cluster::Database::fresh();
    test(&|| Box::new(PgStore::open(&database.address, &Default::default()).unwrap().audit().unwrap()));
}

fn at(secs: i64) -> Timestamp {
    Timestamp::from_secs(secs)
}

fn entry(secs: i64, actor: &str, operation: &str, about: &[&str], outcome: &str) -> Draft {
    Draft {
        label: Label {
            at: at(secs),
            tenant: Some(TenantId::DEFAULT),
            actor: Some(actor.into()),
            operation: operation.into(),
            outcome: outcome.into(),
        },
        about: about.iter().map(|one| (*one).into()).collect(),
        text: format!("{secs} {actor} {operation} {about:?} {outcome}"),
    }
}

fn done(secs: i64) -> Draft {
    entry(secs, "ann", "job_pause", &["tick"], DONE)
}

fn writing(entries: impl IntoIterator<Item = Draft>) -> Writing {
    Writing { entries: entries.into_iter().collect(), ..Writing::default() }
}

fn link(row: &Recorded) -> Link {
    Link { mark: row.mark, digest: Sum::of(&row.text), signs_off: None }
}

fn walked(audit: &mut dyn AuditLog) -> Walked {
    let (base, head) = audit.ends().unwrap();
    let mut walk = Walk::new(base, None);
    audit.after(base.seq, 10_000).unwrap().iter().for_each(|row| walk.step(&link(row)));
    walk.end(head)
}

#[test]
fn entries_of_all_who_write_make_one_chain() {
    on_each(|open| {
        assert_eq!(open().ends().unwrap(), (Mark::BEGINNING, Mark::BEGINNING));
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let mut audit = open();
                scope.spawn(move || {
                    for n in 0..10 {
                        audit.write(&writing([done(writer * 100 + n), done(writer * 100 + n)])).unwrap();
                    }
                });
            }
        });
        let walked = walked(&mut *open());
        assert_eq!((walked.entries, walked.last.seq, walked.findings), (80, 80, vec![]));
    });
}

#[test]
fn an_entry_reads_back_as_it_was_written() {
    on_each(|open| {
        let mut audit = open();
        let mut of_nobody = entry(2, "", "session_open", &[], "E0603");
        (of_nobody.label.actor, of_nobody.label.tenant) = (None, None);
        of_nobody.text = "{\"reason\":\"夜间 \\u0000\"}".into();
        audit.write(&writing([done(1), of_nobody.clone()])).unwrap();
        let rows = audit.after(1, 10).unwrap();
        let mark = Mark::BEGINNING.next(Sum::of(&done(1).text)).next(Sum::of(&of_nobody.text));
        assert_eq!(rows, [Recorded { mark, label: of_nobody.label, text: of_nobody.text }]);
    });
}

#[test]
fn what_was_begun_waits_for_its_entry() {
    on_each(|open| {
        let mut audit = open();
        let begun = |id: &str, secs| Begun { id: id.into(), at: at(secs), text: format!("{id} begun") };
        let both = vec![begun("a", 1), begun("b", 2)];
        audit.write(&Writing { begun: both.clone(), ..Writing::default() }).unwrap();
        audit.write(&Writing { begun: both, ..Writing::default() }).unwrap();
        assert_eq!(audit.begun(at(2), 10).unwrap(), [begun("a", 1)]);
        audit.write(&Writing { settled: vec!["a".into()], ..writing([done(3)]) }).unwrap();
        assert_eq!(open().begun(at(9), 10).unwrap(), [begun("b", 2)]);
        assert_eq!(audit.ends().unwrap().1.seq, 1);
    });
}

#[test]
fn entries_are_found_by_who_what_when_and_how_it_ended() {
    on_each(|open| {
        let mut audit = open();
        let mut elsewhere = entry(4, "ann", "job_pause", &["tick"], DONE);
        elsewhere.label.tenant = Some(TenantId(2));
        audit
            .write(&writing([
                entry(1, "ann", "job_apply", &["tick", "tock", "tick"], DONE),
                entry(2, "bob", "job_pause", &["tick"], "E0602"),
                entry(3, "bob", "pool_put", &["gpu"], "unknown"),
                elsewhere,
            ]))
            .unwrap();
        let mut found = |filter: AuditFilter| {
            let rows = audit.list(&AuditFilter { limit: 10, ..filter }).unwrap();
            rows.iter().map(|row| row.mark.seq).collect::<Vec<_>>()
        };
        let text = |text: &str| Some(text.to_string());
        assert_eq!(found(AuditFilter::default()), [4, 3, 2, 1]);
        assert_eq!(found(AuditFilter { before: Some(3), ..AuditFilter::default() }), [2, 1]);
        assert_eq!(found(AuditFilter { seq: Some(3), ..AuditFilter::default() }), [3]);
        assert_eq!(found(AuditFilter { actor: text("bob"), ..AuditFilter::default() }), [3, 2]);
        assert_eq!(found(AuditFilter { operation: text("job_pause"), ..AuditFilter::default() }), [4, 2]);
        assert_eq!(found(AuditFilter { about: text("tick"), ..AuditFilter::default() }), [4, 2, 1]);
        assert_eq!(found(AuditFilter { since: Some(at(3)), ..AuditFilter::default() }), [4, 3]);
        assert_eq!(found(AuditFilter { since: Some(at(9)), ..AuditFilter::default() }), [0; 0]);
        assert_eq!(found(AuditFilter { tenant: Some(TenantId(2)), ..AuditFilter::default() }), [4]);
        assert_eq!(found(AuditFilter { outcome: Some(OutcomeIs::Refused), ..AuditFilter::default() }), [2]);
        let unknown = Some(OutcomeIs::Word("unknown".into()));
        assert_eq!(found(AuditFilter { outcome: unknown, actor: text("bob"), ..AuditFilter::default() }), [3]);
        assert_eq!(audit.list(&AuditFilter { limit: 1, ..AuditFilter::default() }).unwrap().len(), 1);
    });
}

#[test]
fn old_entries_go_when_an_entry_says_so_and_the_rest_is_still_a_chain() {
    on_each(|open| {
        let mut audit = open();
        assert_eq!(audit.older_than(at(99)).unwrap(), None);
        audit.write(&writing((1..=6).map(done))).unwrap();
        assert_eq!(audit.older_than(at(1)).unwrap(), None);
        // The newest stays, however old it is.
        assert_eq!(audit.older_than(at(99)).unwrap().unwrap().seq, 5);
        let old = audit.older_than(at(4)).unwrap().unwrap();
        assert_eq!(old.seq, 3);
        audit.write(&Writing { drop_until: Some(old), ..writing([done(7)]) }).unwrap();
        assert!(audit.sweep(2).unwrap());
        assert!(!audit.sweep(2).unwrap());
        let (base, head) = audit.ends().unwrap();
        assert_eq!((base, head.seq, audit.after(0, 10).unwrap().len()), (old, 7, 4));
        assert_eq!(walked(&mut *audit).findings, [Finding::Front { first: 4 }]);
        let about = AuditFilter { about: Some("tick".into()), limit: 10, ..AuditFilter::default() };
        assert_eq!(audit.list(&about).unwrap().len(), 4);
        // It never goes back.
        audit.write(&Writing { drop_until: Some(Mark { seq: 1, ..old }), ..writing([done(8)]) }).unwrap();
        assert_eq!(audit.ends().unwrap().0, old);
    });
}

#[test]
fn a_row_cannot_be_changed_in_passing() {
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(dir.path(), &Options::default()).unwrap();
    store.audit().unwrap().write(&writing([done(1), done(2)])).unwrap();
    let conn = rusqlite::Connection::open(store.path()).unwrap();
    for text in ["update audit set actor = 'bob'", "delete from audit where seq = 2"] {
        assert!(conn.execute(text, []).unwrap_err().to_string().contains("never"), "{text}");
    }
    let database = cluster::Database::fresh();
    PgStore::open(&database.address, &Default::default()).unwrap().audit().unwrap().write(&writing([done(1)])).unwrap();
    for text in ["update duly.audit set actor = 'bob'", "delete from duly.audit", "truncate duly.audit"] {
        assert!(std::panic::catch_unwind(|| database.run(text)).is_err(), "{text}");
    }
    assert_eq!(
        walked(&mut PgStore::open(&database.address, &Default::default()).unwrap().audit().unwrap()).findings,
        []
    );
}

#[test]
fn the_chain_goes_on_where_the_store_moved_to() {
    let (dir, database) = (tempfile::tempdir().unwrap(), cluster::Database::fresh());
    let store = SqliteStore::open(dir.path(), &Options::default()).unwrap();
    let mut audit = store.audit().unwrap();
    audit.write(&writing((1..=4).map(done))).unwrap();
    let old = audit.older_than(at(2)).unwrap();
    let begun = vec![Begun { id: "a".into(), at: at(5), text: "begun".into() }];
    audit.write(&Writing { drop_until: old, begun: begun.clone(), ..writing([done(5)]) }).unwrap();
    let ends = audit.ends().unwrap();
    drop((audit, store));
    duly_store::migrate_store(dir.path(), &database.address, &|_| Vec::new()).unwrap();
    let mut there = PgStore::open(&database.address, &Default::default()).unwrap().audit().unwrap();
    assert_eq!((there.ends().unwrap(), there.begun(at(9), 9).unwrap()), (ends, begun));
    there.write(&writing([done(6)])).unwrap();
    let walked = walked(&mut there);
    assert_eq!((walked.last.seq, walked.findings), (6, vec![Finding::Front { first: 2 }]));
    let about = AuditFilter { about: Some("tick".into()), limit: 10, ..AuditFilter::default() };
    assert_eq!(there.list(&about).unwrap().len(), 6, "rows that were dropped are swept away later");
}
