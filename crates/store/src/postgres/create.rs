//! New instances, and what must be known and kept because of them.

use engine::change::Created;

use super::apply::Applying;
use super::column::{ints, maybe_ints, maybe_texts};
use super::conn::{Call, Expects};
use super::sql;
use super::stage::{ByDay, Of};
use crate::code::{self, Code};

impl<'c> Applying<'c> {
    pub(super) fn created(&mut self, by_day: &ByDay<Of<'c, Created>>) {
        for (day, rows) in by_day {
            let values = vec![
                ints(rows, |(commit, _)| commit.shard.0),
                ints(rows, |(_, c)| c.row.id.0),
                ints(rows, |(_, c)| c.tenant.0),
                ints(rows, |(_, c)| c.row.job.0),
                ints(rows, |(_, c)| c.version.0),
                ints(rows, |(_, c)| c.row.planned.0),
                ints(rows, |(_, c)| i64::from(c.part.number)),
                ints(rows, |(_, c)| i64::from(c.part.total)),
                maybe_ints(rows, |(_, c)| c.parent.map(|parent| parent.0)),
                ints(rows, |(_, c)| code::cause(&c.cause).0),
                maybe_ints(rows, |(_, c)| code::cause(&c.cause).1),
                maybe_texts(rows, |(_, c)| code::cause(&c.cause).2),
                maybe_ints(rows, |(_, c)| c.params.map(|params| params.0)),
                ints(rows, |(_, c)| c.state.code()),
                ints(rows, |(_, c)| c.attempt.0),
                maybe_ints(rows, |(_, c)| c.target.map(|target| target.0)),
                ints(rows, |(_, c)| c.at.0),
            ];
            self.on_day(sql::CREATE_INSTANCES, *day, values, Expects::Any);
        }
        let all: Vec<Of<Created>> = by_day.values().flatten().copied().collect();
        let old = all.iter().filter(|(_, c)| c.row.id.0 < self.low_water);
        let old: Vec<_> = old.map(|(commit, c)| (commit.shard, c.row)).collect();
        self.open_long(&old);
        let later = all.iter().map(|(_, c)| c).filter(|c| c.attempt.0 != c.row.id.0);
        let later: Vec<_> = later.map(|c| (c.attempt, c.row)).collect();
        self.later_attempts(&later);
        self.cover(&all);
        self.keep_for(&all);
    }

    fn cover(&mut self, all: &[Of<Created>]) {
        let wider = self.days.widen(all.iter().map(|(commit, c)| (commit.shard, c.row.id.0, c.row.planned)));
        if wider.is_empty() {
            return;
        }
        let wider: Vec<_> = wider.into_iter().collect();
        let values = vec![
            ints(&wider, |((shard, ..), _)| shard.0),
            ints(&wider, |((_, no, _), _)| *no),
            ints(&wider, |((.., day), _)| *day),
            ints(&wider, |(_, block)| block.from),
            ints(&wider, |(_, block)| block.until),
        ];
        self.calls.push(Call::new(sql::PUT_BLOCKS, values, Expects::Any));
    }

    /// What an instance refers to is kept as long as the instance, even if its job goes on to something else.
    fn keep_for(&mut self, all: &[Of<Created>]) {
        let contents = all.iter().filter_map(|(_, c)| c.params.map(|params| (params.0, c.row.planned.day())));
        let contents = latest(contents);
        let ahead = all.iter().filter(|(commit, c)| c.row.planned.day() > commit.horizon.day() + 1);
        let versions = latest(ahead.map(|(_, c)| (c.version.0, c.row.planned.day())));
        let some_missing = |kept: &[(i64, i64)]| format!("there is no content {}", kept[0].0);
        for (statement, kept) in [(sql::KEEP_CONTENTS, contents), (sql::KEEP_VERSIONS, versions)] {
            if kept.is_empty() {
                continue;
            }
            let expects = match statement {
                sql::KEEP_CONTENTS => Expects::Rows(kept.len(), some_missing(&kept)),
                _ => Expects::Any,
            };
            let values = vec![ints(&kept, |(id, _)| *id), ints(&kept, |(_, day)| *day)];
            self.calls.push(Call::new(statement, values, expects));
        }
    }
}

/// One day for each id: the last. In the order of ids, so that two shards never wait for each other.
fn latest(pairs: impl Iterator<Item = (i64, i64)>) -> Vec<(i64, i64)> {
    let mut pairs: Vec<_> = pairs.collect();
    pairs.sort_unstable_by(|a, b| (a.0, b.1).cmp(&(b.0, a.1)));
    pairs.dedup_by_key(|(id, _)| *id);
    pairs
}
