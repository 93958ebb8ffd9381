//! What may and may not happen to an instance.

use engine::change::{Change, Ended, Progress};
use model::{
    Actor, AgentId, AttemptId, Cause, Ending, Failure, InstanceId, Part, ReportKind, SkipReason, Span, State,
    Timestamp, Uncertain, Verdict,
};

use super::Bed;
use super::world::{World, ann, at, ended, ended_by, outcome, retried, soon};
use crate::read::InstanceFilter;

pub fn a_planned_time_has_one_instance(bed: &impl Bed) {
    let mut w = World::new(bed);
    let (a, b) = (w.job("a"), w.job("b"));
    let row = w.fire(&a, at(1));
    w.fire(&b, at(1));
    let again = w.creation(&a, at(1));
    w.refuse([Change::Created(again.clone())], 0);
    w.commit([ended(row, Ending::Succeeded)]);
    w.refuse([Change::Created(again.clone())], 0);
    let mut share = again;
    share.part = Part::child(0, 2);
    share.parent = Some(row.id);
    w.commit([Change::Created(share)]);
    let mut same_number = w.creation(&a, at(2));
    same_number.row.id = row.id;
    w.refuse([Change::Created(same_number)], 0);
}

pub fn an_id_beyond_what_was_handed_out_is_refused(bed: &impl Bed) {
    let mut w = World::new(bed);
    let job = w.job("a");
    let mut created = w.creation(&job, at(1));
    created.row.id = InstanceId(w.next_id);
    w.refuse([Change::Created(created)], 0);
}

pub fn only_the_fence_may_end_an_instance(bed: &impl Bed) {
    let mut w = World::new(bed);
    let job = w.job("a");
    let row = w.fire(&job, at(1));
    let next = w.id();
    w.commit([retried(row, row.id.0, 1, next)]);
    w.refuse([ended(row, Ending::Succeeded)], 0);
    let after = w.id();
    w.refuse([retried(row, row.id.0, 1, after)], 0);
    let never = w.id();
    w.refuse([retried(row, never, 2, after)], 0);
    w.refuse([progress(row, row.id.0, State::Running)], 0);
    w.refuse([Change::Placed { row, attempt: AttemptId(row.id.0), target: None, note: None }], 0);
    let mut elsewhere = row;
    elsewhere.planned = at(86_400 * 40);
    w.refuse([ended_by(elsewhere, AttemptId(next), Ending::Succeeded)], 0);
    w.commit([ended_by(row, AttemptId(next), Ending::Succeeded)]);
}

pub fn an_instance_ends_once(bed: &impl Bed) {
    let mut w = World::new(bed);
    let job = w.job("a");
    let row = w.fire(&job, at(1));
    w.refuse([ended(row, Ending::Succeeded), ended(row, Ending::Succeeded)], 1);
    w.commit([ended(row, Ending::Succeeded)]);
    w.refuse([ended(row, Ending::Failed(Failure::Lost))], 0);
    w.refuse([progress(row, row.id.0, State::Running)], 0);
    let next = w.id();
    w.refuse([retried(row, row.id.0, 1, next)], 0);
    w.refuse([Change::Stopping { row, by: ann(), at: at(5) }], 0);
    w.refuse([Change::Withdrawn { row }], 0);
    assert_eq!(w.reads.ending(row.id, soon()).unwrap(), Some(Ending::Succeeded));
}

pub fn every_ending_reads_back(bed: &impl Bed) {
    let mut w = World::new(bed);
    let job = w.job("a");
    let endings = [
        Ending::Succeeded,
        Ending::Warned,
        Ending::Failed(Failure::Exit),
        Ending::Failed(Failure::Timeout),
        Ending::Dead(Failure::Undelivered),
        Ending::Dead(Failure::Refused),
        Ending::Skipped(SkipReason::Overlap),
        Ending::Skipped(SkipReason::Quarantined),
        Ending::Stopped(ann()),
        Ending::Forced(Actor("李雷".into())),
    ];
    for (n, ending) in endings.into_iter().enumerate() {
        let mut created = w.creation(&job, at(n as i64));
        created.cause = Cause::Misfire { missed: n as u64 };
        created.target = Some(AgentId(4));
        let row = created.row;
        let reported = outcome(Verdict::Warned, at(50));
        let end = Change::Ended(Ended {
            row,
            attempt: created.attempt,
            ending: ending.clone(),
            target: Some(AgentId(5)),
            ordered_at: Some(at(40)),
            at: at(51),
            outcome: Some(Box::new(reported.clone())),
            why: Some("because".into()),
        });
        w.commit([Change::Created(created), end]);
        let kept = w.reads.instance(row.id, soon()).unwrap().unwrap();
        assert_eq!(w.reads.ending(row.id, soon()).unwrap(), Some(ending.clone()));
        assert_eq!((kept.state, kept.cause), (ending.state(), Cause::Misfire { missed: n as u64 }));
        assert_eq!((kept.exit_code, kept.message, kept.outputs), (Some(7), reported.message, reported.outputs));
        assert_eq!((kept.started_at, kept.ended_at), (reported.started_at, Some(at(51))));
        assert_eq!((kept.target, kept.ordered_at), (Some(AgentId(5)), Some(at(40))));
        assert_eq!((kept.usage, kept.why.as_deref()), (reported.usage, Some("because")));
    }
    assert!(w.open().is_empty());
}

fn progress(row: engine::change::Row, attempt: i64, state: State) -> Change {
    Change::Progress(Progress {
        row,
        attempt: AttemptId(attempt),
        state,
        target: Some(AgentId(9)),
        ordered_at: Some(at(2)),
        started_at: Some(at(3)),
        why: Some("runs".into()),
        uncertain: Some(Uncertain { since: at(4), why: "silent".into() }),
    })
}

pub fn progress_is_written_under_the_fence(bed: &impl Bed) {
    let mut w = World::new(bed);
    let job = w.job("a");
    let row = w.fire(&job, at(1));
    w.commit([Change::Placed { row, attempt: AttemptId(row.id.0), target: Some(AgentId(8)), note: None }]);
    let placed = w.store.load(w.shard).unwrap().open.remove(0);
    assert_eq!((placed.target, placed.state), (Some(AgentId(8)), State::Dispatched));

    w.commit([progress(row, row.id.0, State::Running)]);
    w.refuse([progress(row, row.id.0, State::Succeeded)], 0);
    let open = w.store.load(w.shard).unwrap().open.remove(0);
    assert_eq!((open.state, open.target, open.why.as_deref()), (State::Running, Some(AgentId(9)), Some("runs")));
    assert_eq!((open.ordered_at, open.started_at), (Some(at(2)), Some(at(3))));
    assert_eq!(open.uncertain, Some(Uncertain { since: at(4), why: "silent".into() }));
    // An ending without a report leaves the start that was seen, and nothing uncertain.
    w.commit([ended(row, Ending::Failed(Failure::Lost))]);
    let kept = w.reads.instance(row.id, soon()).unwrap().unwrap();
    assert_eq!((kept.started_at, kept.uncertain), (Some(at(3)), None));
}

pub fn a_retry_moves_the_attempt(bed: &impl Bed) {
    let mut w = World::new(bed);
    let job = w.job("a");
    let row = w.fire(&job, at(1));
    let (second, third) = (w.id(), w.id());
    w.commit([retried(row, row.id.0, 1, second)]);
    w.commit([retried(row, second, 2, third)]);
    let open = w.store.load(w.shard).unwrap().open.remove(0);
    assert_eq!((open.attempt.0, open.attempt_no, open.state), (third, 3, State::RetryWait));
    assert_eq!(open.retries_used, 2);
    assert_eq!((open.retry_at, open.target, open.ordered_at), (Some(at(61)), None, None));

    let earlier = w.reads.attempts(row.id, soon()).unwrap();
    let seen: Vec<_> = earlier.iter().map(|a| (a.id.0, a.number, a.target, a.reopened_by.clone())).collect();
    assert_eq!(seen, [(row.id.0, 1, Some(AgentId(3)), None), (second, 2, Some(AgentId(3)), None)]);
    assert_eq!(earlier[0].outcome, outcome(Verdict::Failed, at(2)));
    for attempt in [row.id.0, second, third] {
        assert_eq!(w.reads.instance_of(AttemptId(attempt), soon()).unwrap(), Some(row.id));
    }
    assert_eq!(w.reads.instance_of(AttemptId(third + 1), soon()).unwrap(), None);
    w.commit([ended_by(row, AttemptId(third), Ending::Dead(Failure::Exit))]);
    assert_eq!(w.reads.instance_of(AttemptId(third), soon()).unwrap(), Some(row.id));
}

pub fn an_ended_instance_can_be_opened_again(bed: &impl Bed) {
    let mut w = World::new(bed);
    let job = w.job("a");
    let row = w.fire(&job, at(1));
    let next = AttemptId(w.id());
    let reopen = |attempt| Change::Reopened { row, attempt, attempt_no: 3, by: ann(), at: at(90) };
    w.refuse([reopen(next)], 0);
    let second = w.id();
    w.commit([retried(row, row.id.0, 1, second)]);
    w.commit([ended_by(row, AttemptId(second), Ending::Failed(Failure::Timeout))]);
    assert_eq!(w.reads.instance(row.id, soon()).unwrap().unwrap().retries_used, 1);
    w.commit([reopen(next)]);

    let open = w.store.load(w.shard).unwrap().open.remove(0);
    assert_eq!((open.state, open.attempt, open.attempt_no), (State::Ready, next, 3));
    assert_eq!((open.ended_at, open.exit_code, open.message), (None, None, None));
    assert_eq!(open.retries_used, 0, "it has all its retries before it");
    assert_eq!(w.reads.ending(row.id, soon()).unwrap(), None);
    let earlier = w.reads.attempts(row.id, soon()).unwrap();
    assert_eq!(earlier.len(), 2);
    assert_eq!((earlier[1].outcome.verdict, earlier[1].reopened_by.clone()), (Verdict::TimedOut, Some(ann())));
    w.refuse([ended(row, Ending::Succeeded)], 0);
    let failed = InstanceFilter { states: vec![State::Failed], limit: 9, ..Default::default() };
    assert!(w.reads.instances(&failed, soon()).unwrap().is_empty(), "it is not listed as what it was");
    w.commit([ended_by(row, next, Ending::Failed(Failure::Exit))]);
    assert_eq!(w.reads.instances(&failed, soon()).unwrap().len(), 1);
}

pub fn only_what_waits_for_its_time_is_withdrawn(bed: &impl Bed) {
    let mut w = World::new(bed);
    let job = w.job("a");
    let row = w.fire(&job, at(1));
    w.commit([Change::Withdrawn { row }]);
    assert_eq!((w.open(), w.reads.instance(row.id, soon()).unwrap()), (vec![], None));
    w.refuse([Change::Withdrawn { row }], 0);
    // Its planned time is free for what the job is now.
    let again = w.fire(&job, at(1));
    w.commit([progress(again, again.id.0, State::Dispatched)]);
    w.refuse([Change::Withdrawn { row: again }], 0);
}

pub fn a_stop_is_recorded_before_it_happens(bed: &impl Bed) {
    let mut w = World::new(bed);
    let job = w.job("a");
    let row = w.fire(&job, at(1));
    w.commit([Change::Stopping { row, by: ann(), at: at(5) }]);
    assert_eq!(w.store.load(w.shard).unwrap().open[0].stopping, Some(ann()));
    w.commit([ended(row, Ending::Stopped(ann()))]);
}

pub fn a_report_about_an_unknown_attempt_is_kept(bed: &impl Bed) {
    let mut w = World::new(bed);
    let job = w.job("a");
    let row = w.fire(&job, at(1));
    let next = w.id();
    w.commit([retried(row, row.id.0, 1, next)]);
    w.commit([ended_by(row, AttemptId(next), Ending::Succeeded)]);
    let unknown = w.id();
    let report = |attempt: i64, at: Timestamp| Change::Orphan {
        agent: AgentId(2),
        attempt: AttemptId(attempt),
        kind: ReportKind::Ended(Box::new(outcome(Verdict::Failed, at))),
        at,
    };
    let changes = [row.id.0, next, unknown, unknown].map(|attempt| report(attempt, at(9)));
    w.commit(changes);
    w.commit([Change::Orphan {
        agent: AgentId(2),
        attempt: AttemptId(unknown + 1),
        kind: ReportKind::Started { at: at(1) },
        at: at(9) + Span::SECOND,
    }]);
    let orphans = w.reads.orphans(soon()).unwrap();
    let seen: Vec<_> = orphans.iter().map(|orphan| (orphan.attempt.0, orphan.agent)).collect();
    assert_eq!(seen, [(unknown + 1, AgentId(2)), (unknown, AgentId(2))]);
    assert!(orphans[1].what.contains("exit code 7"), "{}", orphans[1].what);
}
