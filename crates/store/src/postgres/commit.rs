//! One batch, one transaction: the shard row first, then every change, then the claims. Compares what was written with
//! what was expected, and writes all of it or nothing. When the answer to the last word is lost, it says so.

use engine::change::{Change, ClaimAnswer, Commit};

use super::apply::{Applying, row_of};
use super::conn::Conn;
use super::day::Days;
use super::error::{Fault, at_commit};
use super::{PATIENCE, PgStore, claim};
use crate::CommitError;
use crate::subject::subject;

/// What became of a batch that was not confirmed.
enum Failed {
    /// Nothing was written; the change to blame, if it is one.
    Before(usize, Fault),
    /// The last word was sent.
    AtCommit(CommitError),
}

impl PgStore {
    pub(super) fn write(&mut self, commit: &Commit) -> Result<Vec<ClaimAnswer>, CommitError> {
        let low_water = self.low_water.get(&commit.shard).copied().unwrap_or(0);
        let days = &mut self.days;
        // Patience may end while the last word is under way.
        let mut last_word = false;
        let done = self.lane.once(PATIENCE, async |conn: &Conn| {
            let done = write_all(conn, days, commit, low_water, &mut last_word).await;
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
        Err(match failed {
            Failed::AtCommit(error) => error,
            Failed::Before(index, fault) => {
                let subject = match commit.changes.get(index) {
                    Some(change) => subject(change),
                    None => "a claim".into(),
                };
                fault.before_commit(commit.shard, index, &subject)
            }
        })
    }
}

async fn write_all(
    conn: &Conn,
    days: &mut Days,
    commit: &Commit,
    low_water: i64,
    last_word: &mut bool,
) -> Result<Vec<ClaimAnswer>, Failed> {
    let whole = |fault| Failed::Before(0, fault);
    know_days(conn, days, commit).await.map_err(whole)?;
    match together(conn, days, commit, low_water).await {
        Ok(()) => {}
        Err(fault) if fault.is_contradiction() => {
            // One of them cannot be: written one by one, it is found.
            days.forget();
            conn.batch("rollback").await.map_err(whole)?;
            know_days(conn, days, commit).await.map_err(whole)?;
            one_by_one(conn, days, commit, low_water).await?;
        }
        Err(fault) => return Err(whole(fault)),
    }
    let answers = claim::claim(conn, &commit.claims).await;
    let answers = answers.map_err(|fault| Failed::Before(commit.changes.len(), fault))?;
    *last_word = true;
    match conn.commit().await {
        Ok(()) => Ok(answers),
        Err(error) => Err(Failed::AtCommit(at_commit(&error))),
    }
}

/// Days that this batch fills are made; of the others it must be known whether they are there.
async fn know_days(conn: &Conn, days: &mut Days, commit: &Commit) -> Result<(), Fault> {
    for change in &commit.changes {
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
async fn together(conn: &Conn, days: &mut Days, commit: &Commit, low_water: i64) -> Result<(), Fault> {
    let mut applying = Applying::new(conn, days, commit, low_water);
    applying.begin();
    for change in &commit.changes {
        applying.apply(change).await?;
    }
    applying.flush().await
}

async fn one_by_one(conn: &Conn, days: &mut Days, commit: &Commit, low_water: i64) -> Result<(), Failed> {
    let mut applying = Applying::new(conn, days, commit, low_water);
    applying.begin();
    applying.flush().await.map_err(|fault| Failed::Before(0, fault))?;
    for (index, change) in commit.changes.iter().enumerate() {
        let at = |fault| Failed::Before(index, fault);
        applying.apply(change).await.map_err(at)?;
        applying.flush().await.map_err(at)?;
    }
    Ok(())
}
