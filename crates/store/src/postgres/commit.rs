//! One batch, one transaction, or the batches of several shards in one: the shard rows first, then every change, then the
//! claims. Compares what was written with what was expected, and writes all of it or nothing. When the answer to the last
//! word is lost, it says so.

use std::sync::Arc;

use engine::change::{Answer, Change, Claim, Commit};

use super::apply::{Applying, row_of};
use super::conn::Conn;
use super::day::Days;
use super::error::{Fault, at_commit};
use super::{PATIENCE, PgStore, between, claim};
use crate::CommitError;
use crate::subject::subject;

type Answers = Vec<Answer>;

/// What became of a batch that was not confirmed.
enum Failed {
    /// Nothing was written; the change to blame, if it is one.
    Before(usize, Fault),
    /// The last word was sent.
    AtCommit(CommitError),
}

impl PgStore {
    pub(super) fn write(&mut self, commit: &Commit) -> Result<Answers, CommitError> {
        match self.try_write(&[commit]) {
            Ok(mut answers) => Ok(answers.pop().unwrap_or_default()),
            Err(Failed::AtCommit(error)) => Err(error),
            Err(Failed::Before(index, fault)) => {
                let subject = match commit.changes.get(index) {
                    Some(change) => subject(change),
                    None => "a claim".into(),
                };
                Err(fault.before_commit(commit.shard, index, &subject))
            }
        }
    }

    /// One transaction for all of them. If that cannot be, each is written by itself, so that one that is refused does
    /// not refuse the others.
    pub(super) fn write_together(&mut self, commits: &[Arc<Commit>]) -> Vec<Result<Answers, CommitError>> {
        let all: Vec<&Commit> = commits.iter().map(|commit| &**commit).collect();
        if all.len() < 2 || has_one_shard_twice(&all) {
            return all.into_iter().map(|commit| self.write(commit)).collect();
        }
        match self.try_write(&all) {
            Ok(answers) => answers.into_iter().map(Ok).collect(),
            Err(Failed::AtCommit(CommitError::Unknown(what))) => {
                all.iter().map(|_| Err(CommitError::Unknown(what.clone()))).collect()
            }
            Err(Failed::Before(_, Fault::Lost(what))) => {
                all.iter().map(|_| Err(CommitError::Retry(what.clone()))).collect()
            }
            Err(_) => all.into_iter().map(|commit| self.write(commit)).collect(),
        }
    }

    fn try_write(&mut self, commits: &[&Commit]) -> Result<Vec<Answers>, Failed> {
        let marks = commits.iter().filter_map(|commit| self.low_water.get(&commit.shard));
        let low_water = marks.copied().max().unwrap_or(0);
        let days = &mut self.days;
        // Patience may end while the last word is under way.
        let mut last_word = false;
        let done = self.lane.once(PATIENCE, async |conn: &Conn| {
            let done = write_all(conn, days, commits, low_water, &mut last_word).await;
            // What is left of a batch that failed must not be there when the next begins.
            match done {
                Ok(answers) => Ok(Ok(answers)),
                Err(Failed::AtCommit(error)) => Ok(Err(Failed::AtCommit(error))),
                Err(Failed::Before(_, fault)) if fault.spoils_connection() => Err(fault),
                Err(before) => {
                    conn.batch("rollback").await?;
                    Ok(Err(before))
                }
            }
        });
        let failed = match done {
            Ok(Ok(answers)) => return Ok(answers),
            Ok(Err(failed)) => failed,
            Err(Fault::Lost(what)) if last_word => Failed::AtCommit(CommitError::Unknown(what)),
            Err(fault) => Failed::Before(0, fault),
        };
        self.days.forget();
        Err(failed)
    }
}

fn has_one_shard_twice(commits: &[&Commit]) -> bool {
    let mut shards: Vec<_> = commits.iter().map(|commit| commit.shard).collect();
    shards.sort_unstable();
    shards.windows(2).any(|two| two[0] == two[1])
}

async fn write_all(
    conn: &Conn,
    days: &mut Days,
    commits: &[&Commit],
    low_water: i64,
    last_word: &mut bool,
) -> Result<Vec<Answers>, Failed> {
    let whole = |fault| Failed::Before(0, fault);
    know_days(conn, days, commits).await.map_err(whole)?;
    match together(conn, days, commits, low_water).await {
        Ok(()) => {}
        Err(fault) if fault.is_contradiction() && commits.len() == 1 => {
            // One of them cannot be: written one by one, it is found.
            days.forget();
            conn.batch("rollback").await.map_err(whole)?;
            know_days(conn, days, commits).await.map_err(whole)?;
            one_by_one(conn, days, commits, low_water).await?;
        }
        Err(fault) => return Err(whole(fault)),
    }
    let granted = between::grant(conn, commits).await.map_err(whole)?;
    let claims: Vec<&Claim> = commits.iter().flat_map(|commit| &commit.claims).collect();
    let answers = claim::claim(conn, &claims).await;
    let mut answers = answers.map_err(|fault| Failed::Before(commits[0].changes.len(), fault))?.into_iter();
    *last_word = true;
    match conn.commit().await {
        Ok(()) => {
            let answers = commits.iter().zip(granted).map(|(commit, granted)| {
                let claims = answers.by_ref().take(commit.claims.len()).map(Answer::Claim);
                granted.into_iter().map(Answer::Granted).chain(claims).collect()
            });
            Ok(answers.collect())
        }
        Err(error) => Err(Failed::AtCommit(at_commit(&error))),
    }
}

/// Days that these batches fill are made; of the others it must be known whether they are there.
async fn know_days(conn: &Conn, days: &mut Days, commits: &[&Commit]) -> Result<(), Fault> {
    for change in commits.iter().flat_map(|commit| &commit.changes) {
        let Some(row) = row_of(change) else { continue };
        let day = row.planned.day();
        if days.is_known(day) {
            continue;
        }
        match change {
            Change::Created(_) => days.make(conn, day).await?,
            _ => drop(days.find(conn, day).await?),
        }
    }
    Ok(())
}

/// All changes with as few statements and as few waits as can be.
async fn together(conn: &Conn, days: &mut Days, commits: &[&Commit], low_water: i64) -> Result<(), Fault> {
    let mut applying = Applying::new(conn, days, commits, low_water);
    applying.begin();
    applying.apply_all().await?;
    applying.flush().await
}

async fn one_by_one(conn: &Conn, days: &mut Days, commits: &[&Commit], low_water: i64) -> Result<(), Failed> {
    let mut applying = Applying::new(conn, days, commits, low_water);
    applying.begin();
    applying.flush().await.map_err(|fault| Failed::Before(0, fault))?;
    for commit in commits {
        for (index, change) in commit.changes.iter().enumerate() {
            applying.apply(commit, change).await.map_err(|fault| Failed::Before(index, fault))?;
        }
    }
    Ok(())
}
