//! New instances, and what must be known and kept because of them.

use engine::change::{Created, Row};

use super::apply::Applying;
use super::column::{ints, maybe_ints, maybe_texts};
use super::conn::{Call, Expects};
use super::sql;
use super::stage::ByDay;
use crate::code::{self, Code};

impl<'c> Applying<'c> {
    pub(super) fn created(&mut self, by_day: &ByDay<&'c Created>) {
        for (day, rows) in by_day {
            let values = vec![
                Box::new(self.commit.shard.0) as _,
                ints(rows, |c| c.row.id.0),
                ints(rows, |c| c.tenant.0),
                ints(rows, |c| c.row.job.0),
                ints(rows, |c| c.version.0),
                ints(rows, |c| c.row.planned.0),
                ints(rows, |c| i64::from(c.part.number)),
                ints(rows, |c| i64::from(c.part.total)),
                maybe_ints(rows, |c| c.parent.map(|parent| parent.0)),
                ints(rows, |c| code::cause(&c.cause).0),
                maybe_ints(rows, |c| code::cause(&c.cause).1),
                maybe_texts(rows, |c| code::cause(&c.cause).2),
                maybe_ints(rows, |c| c.params.map(|params| params.0)),
                ints(rows, |c| c.state.code()),
                ints(rows, |c| c.attempt.0),
                maybe_ints(rows, |c| c.target.map(|target| target.0)),
                ints(rows, |c| c.at.0),
            ];
            self.on_day(sql::CREATE_INSTANCES, *day, values, Expects::Any);
        }
        let all: Vec<&Created> = by_day.values().flatten().copied().collect();
        let old: Vec<Row> = all.iter().map(|c| c.row).filter(|row| row.id.0 < self.low_water).collect();
        self.open_long(&old);
        let later: Vec<_> = all.iter().filter(|c| c.attempt.0 != c.row.id.0).map(|c| (c.attempt, c.row)).collect();
        self.later_attempts(&later);
        self.cover(&all);
        self.keep_for(&all);
    }

    fn cover(&mut self, all: &[&Created]) {
        let shard = self.commit.shard;
        let wider = self.days.widen(shard, all.iter().map(|c| (c.row.id.0, c.row.planned)));
        if wider.is_empty() {
            return;
        }
        let wider: Vec<_> = wider.into_iter().collect();
        let values = vec![
            Box::new(shard.0) as _,
            ints(&wider, |((no, _), _)| *no),
            ints(&wider, |((_, day), _)| *day),
            ints(&wider, |(_, block)| block.from),
            ints(&wider, |(_, block)| block.until),
        ];
        self.calls.push(Call::new(sql::PUT_BLOCKS, values, Expects::Any));
    }

    /// What an instance refers to is kept as long as the instance, even if its job goes on to something else.
    fn keep_for(&mut self, all: &[&Created]) {
        let ahead = self.commit.horizon.day() + 1;
        let contents = all.iter().filter_map(|c| c.params.map(|params| (params.0, c.row.planned.day())));
        let contents = latest(contents);
        let versions = all.iter().map(|c| (c.version.0, c.row.planned.day())).filter(|(_, day)| *day > ahead);
        let versions = latest(versions);
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
