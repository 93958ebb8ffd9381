//! The journal of results through torn ends, damage and trimming.

use std::collections::BTreeSet;

use model::{Outcome, Verdict};
use proptest::prelude::*;
use wire::link;

use super::*;

const LONG: Timestamp = Timestamp::MAX;

fn ending(attempt: i64) -> Ending {
    let outcome = Outcome::of(Verdict::Failed, format!("message of {attempt}"), Timestamp(attempt));
    let body = Some(link::report::Body::Ended(outcome.into()));
    Ending { report: link::Report { attempt, seq: 2, shard: 3, body }, until: LONG }
}

fn small() -> SpoolLimits {
    SpoolLimits { segment_bytes: 200, bytes_max: 1_000 }
}

fn open(dir: &Path) -> (Spool, Found) {
    Spool::open(dir, small(), Timestamp(0)).unwrap()
}

fn end(spool: &mut Spool, attempts: impl IntoIterator<Item = i64>) {
    for attempt in attempts {
        spool.append(&[Record::Ended(ending(attempt))]).unwrap();
    }
}

fn ack(spool: &mut Spool, attempts: &[i64]) {
    spool.append(&[Record::Acked(attempts.to_vec())]).unwrap();
}

fn unacked(found: &Found) -> Vec<i64> {
    found.unacked.iter().map(|ending| ending.report.attempt).collect()
}

fn files(dir: &Path) -> usize {
    fs::read_dir(dir).unwrap().count()
}

#[test]
fn what_was_written_is_found_again_as_it_was_and_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let (mut spool, _) = open(dir.path());
    end(&mut spool, [5, 1, 9, 7]);
    ack(&mut spool, &[1, 7]);
    drop(spool);
    for _ in 0..2 {
        let (_, found) = open(dir.path());
        assert_eq!(found.unacked, [ending(5), ending(9)]);
        assert_eq!(found.graves, [(1, LONG), (7, LONG)]);
        assert_eq!(found.cut_bytes, 0);
        assert_eq!(files(dir.path()), 1, "opening leaves one segment");
    }
}

#[test]
fn a_segment_goes_when_everything_in_it_is_acknowledged() {
    let dir = tempfile::tempdir().unwrap();
    let (mut spool, _) = open(dir.path());
    end(&mut spool, 0..24);
    let before = files(dir.path());
    assert!(before > 3);
    ack(&mut spool, &(1..24).collect::<Vec<_>>());
    assert_eq!(files(dir.path()), 2, "the one with attempt 0 and the one being written");
    ack(&mut spool, &[0]);
    assert_eq!(files(dir.path()), 1);
    assert!(spool.segments.len() == 1 && spool.place.is_empty());
    assert_eq!(unacked(&open(dir.path()).1), [0; 0]);
}

#[test]
fn a_full_journal_says_so_until_it_is_acknowledged() {
    let dir = tempfile::tempdir().unwrap();
    let (mut spool, _) = open(dir.path());
    let mut ended = 0;
    while spool.has_room() {
        end(&mut spool, [ended]);
        ended += 1;
    }
    assert!((5..100).contains(&ended), "{ended}");
    ack(&mut spool, &(0..ended).collect::<Vec<_>>());
    assert!(spool.has_room());
}

#[test]
fn an_ending_written_twice_is_one() {
    let dir = tempfile::tempdir().unwrap();
    let (mut spool, _) = open(dir.path());
    end(&mut spool, [1, 2, 3, 4, 5, 6, 1]);
    assert_eq!(unacked(&open(dir.path()).1), [2, 3, 4, 5, 6, 1]);
    let (mut spool, _) = open(dir.path());
    end(&mut spool, [2, 1]);
    ack(&mut spool, &[1, 2, 3, 4, 5, 6]);
    assert_eq!(files(dir.path()), 1);
}

#[test]
fn the_long_dead_are_forgotten() {
    let dir = tempfile::tempdir().unwrap();
    let (mut spool, _) = open(dir.path());
    spool.append(&[Record::Ended(Ending { until: Timestamp(10), ..ending(1) }), Record::Acked(vec![1])]).unwrap();
    drop(spool);
    assert_eq!(Spool::open(dir.path(), small(), Timestamp(10)).unwrap().1.graves, [(1, Timestamp(10))]);
    assert_eq!(Spool::open(dir.path(), small(), Timestamp(11)).unwrap().1.graves, []);
}

#[test]
fn a_torn_tail_is_cut_and_told_and_the_journal_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let (mut spool, _) = Spool::open(dir.path(), SpoolLimits::default(), Timestamp(0)).unwrap();
    end(&mut spool, [1, 2]);
    let file = path(dir.path(), spool.active_number);
    let whole = fs::metadata(&file).unwrap().len();
    end(&mut spool, [3]);
    drop(spool);
    File::options().write(true).open(&file).unwrap().set_len(whole + 11).unwrap();
    let (mut spool, found) = open(dir.path());
    assert_eq!((unacked(&found), found.cut_bytes), (vec![1, 2], 11));
    end(&mut spool, [4]);
    assert_eq!(unacked(&open(dir.path()).1), [1, 2, 4]);
}

#[derive(Clone, Debug)]
enum Step {
    End(i64),
    Ack(i64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![(0..30i64).prop_map(Step::End), (0..30i64).prop_map(Step::Ack)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Killed anywhere in the last write, or with a byte of it gone bad: exactly what was whole before it is known.
    #[test]
    fn every_cut_leaves_what_was_whole(
        steps in prop::collection::vec(step(), 1..40),
        cut in 0.0..1.0f64,
        damage in prop::option::of(0.0..1.0f64),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let limits = SpoolLimits { segment_bytes: 1 << 20, ..small() };
        let (mut spool, _) = Spool::open(dir.path(), limits, Timestamp(0)).unwrap();
        let mut states = vec![(0, BTreeSet::new())];
        let mut open = BTreeSet::new();
        for step in &steps {
            match step {
                Step::End(attempt) => { end(&mut spool, [*attempt]); open.insert(*attempt); }
                Step::Ack(attempt) => { ack(&mut spool, &[*attempt]); open.remove(attempt); }
            }
            states.push((spool.active_bytes(), open.clone()));
        }
        let file = path(dir.path(), spool.active_number);
        let mut bytes = fs::read(&file).unwrap();
        bytes.truncate((bytes.len() as f64 * cut) as usize);
        let mut whole = bytes.len() as u64;
        if let Some(at) = damage.map(|damage| (bytes.len() as f64 * damage) as usize).filter(|at| *at < bytes.len()) {
            bytes[at] ^= 0x20;
            whole = at as u64;
        }
        fs::write(&file, bytes).unwrap();
        let expected = &states.iter().rev().find(|(end, _)| *end <= whole).unwrap().1;
        let (_, found) = Spool::open(dir.path(), limits, Timestamp(0)).unwrap();
        prop_assert_eq!(&unacked(&found).into_iter().collect::<BTreeSet<_>>(), expected);
    }
}
