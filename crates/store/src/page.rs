//! What a page of instances still wants, and the keys it is put together from. Shared by the stores that keep history
//! by days.

use model::{State, Timestamp};

use crate::code::{self, Code};
use crate::read::InstanceFilter;

/// A row's place in a list: its planned time and its id.
pub(crate) type Key = (i64, i64);

/// Rows before `top`, not before `from`.
pub(crate) struct Wanted {
    pub top: Key,
    pub from: i64,
    pub tenant: Option<i64>,
    /// Places the jobs must lie in, as the statements take them.
    pub within: Option<String>,
    /// One bit per state.
    pub states: i64,
    pub agent: Option<i64>,
    pub cause: Option<i64>,
    pub limit: usize,
}

impl Wanted {
    pub(crate) fn of(filter: &InstanceFilter) -> Wanted {
        let before = filter.to.map_or((i64::MAX, i64::MAX), |to| (to.0, i64::MIN));
        let after = filter.after.map_or((i64::MAX, i64::MAX), |(planned, id)| (planned.0, id.0));
        let states = if filter.states.is_empty() { &State::ALL[..] } else { &filter.states };
        Wanted {
            top: before.min(after),
            from: filter.from.map_or(i64::MIN, |from| from.0),
            tenant: filter.tenant.map(|tenant| tenant.0),
            within: filter.within.as_deref().map(crate::json::places),
            states: states.iter().fold(0, |bits, state| bits | 1 << state.code()),
            agent: filter.agent.map(|agent| agent.0),
            cause: filter.cause.map(code::cause_kind),
            limit: filter.limit,
        }
    }

    pub(crate) fn is_nothing(&self) -> bool {
        self.limit == 0 || self.top <= (self.from, i64::MIN)
    }

    pub(crate) fn days(&self) -> [i64; 2] {
        [Timestamp(self.from).day(), Timestamp(self.top.0).day()]
    }

    /// Only what has this planned time.
    pub(crate) fn at(&mut self, planned: Timestamp) {
        self.from = self.from.max(planned.0);
        self.top = self.top.min((planned.0.saturating_add(1), i64::MIN));
    }
}

/// Which way leads to the rows of a filter that names neither a job nor a parent.
pub(crate) enum Way {
    /// Everything asked for is in the list of what ended otherwise than well.
    Unwell,
    Open,
    Blocks,
}

impl Way {
    pub(crate) fn of(filter: &InstanceFilter) -> Way {
        let all = |test: fn(State) -> bool| !filter.states.is_empty() && filter.states.iter().all(|state| test(*state));
        // The list of bad endings does not say whose they are, nor more about them.
        let plain = filter.within.is_none() && filter.agent.is_none() && filter.cause.is_none();
        if plain && all(|state| !state.is_open() && state != State::Succeeded) {
            Way::Unwell
        } else if all(State::is_open) {
            Way::Open
        } else {
            Way::Blocks
        }
    }
}

pub(crate) fn keep_newest(keys: &mut Vec<Key>, limit: usize) {
    keys.sort_unstable_by(|a, b| b.cmp(a));
    keys.dedup();
    keys.truncate(limit);
}
