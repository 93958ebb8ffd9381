//! Whom the shard loop blames for a batch the store says cannot be.

use duly_server::shard::keeper::{Keeper, Trouble};
use engine::{Change, Compiled, Input, Loaded, LoadedJob, Shard};
use model::{Batch, ContentId, JobId, JobMode, Rule, Span, TenantId, Term, Timestamp, VersionId, When};
use store::{CommitError, Standing};

const T0: Timestamp = Timestamp::from_secs(1_767_571_200);

/// Jobs 1, 2 and 3, each due every second.
fn shard() -> Shard {
    let mut rule = Rule::default();
    rule.trigger.when = When::Rate { every: Span::SECOND };
    let rule = Compiled::new(rule).unwrap();
    let job = |id: i64| LoadedJob {
        id: JobId(id),
        tenant: TenantId::DEFAULT,
        version: VersionId(id),
        rule: rule.clone(),
        rule_content: ContentId(1),
        task: ContentId(1),
        source: ContentId(1),
        mode: JobMode::Enabled,
        since: T0,
        fired: 0,
        alias: 0,
    };
    let jobs = (1..=3).map(job).collect();
    Shard::load(Loaded { term: Term(1), horizon: T0, ids: 1_000..1_000_000, jobs, ..Loaded::default() }, T0)
}

/// What the keeper puts away after the commit of a tick was refused for its first change about this job.
fn put_away(culprit: JobId) -> Vec<Change> {
    let standing = Standing { term: Term(1), batch: Batch(0), horizon: T0, next_id: 1_000 };
    let mut keeper = Keeper::new(shard(), standing);
    keeper.tell(T0, Input::Tick).unwrap();
    let commit = keeper.take_commit().expect("a tick plans ahead");
    let index = commit.changes.iter().position(|change| change.job() == Some(culprit)).expect("all are due");
    let trouble = keeper.failed(CommitError::Impossible { index, what: "made to be".into() });
    assert_eq!(trouble, Trouble::Reload);
    keeper.reloaded(shard(), standing);
    assert_eq!(keeper.tell_next_again(T0), Ok(true));
    keeper.take_commit().expect("what is put away is written").changes.clone()
}

#[test]
fn the_job_of_the_change_that_cannot_be_is_held_and_no_other() {
    for culprit in (1..=3).map(JobId) {
        let changes = put_away(culprit);
        assert!(
            matches!(&changes[..], [Change::Quarantined { job, error, .. }] if *job == Some(culprit) && error == "made to be"),
            "for {culprit}: {changes:?}"
        );
    }
}
