//! When a cron expression fires: parsing, the next and the previous instant, and what clock changes do to both.
//!
//! An expression has a stored dialect and is never guessed: [`CronDialect::Quartz`] agrees with Quartz 2.3.2 in what it
//! accepts, refuses and fires; [`CronDialect::Unix`] is crontab. A [`Pattern`] holds what the text means, a [`Schedule`] adds
//! the zone and the rule for hours the zone skips or repeats.
//!
//! Clock changes, under a [`DstRule::Policy`]:
//! - A pattern that fires in every hour of the day (`0 */15 * * * ?`, `0 30 * * * ?`) is interval-like: it follows elapsed
//!   time. It fires through both passes of a repeated hour whatever the policy says, and simply continues after a
//!   gap. A minutely job must not fall silent for an hour.
//! - Any other pattern means times on the clock. Fires inside a gap are skipped, or together become one fire at the
//!   instant the clock jumped to; if the pattern fires at that instant anyway, that is the one fire. A time that
//!   comes twice fires in the first pass, the second, or both.
//!
//! [`DstRule::Quartz`] does what Quartz does: nothing inside a gap, only the second pass of a repeated hour, for every pattern;
//! and, asked from inside the first pass, it goes on from the same wall-clock time in the second.
//!
//! Nothing fires before 1970 or after 2299 on the wall clock of the zone. [`brute`] answers the same questions slowly
//! and shares no code with the rest, so that the one can be held against the other.

pub mod brute;
mod civil;
mod days;
mod dst;
mod error;
mod pattern;
mod quartz;
mod quartz_item;
mod quartz_walk;
mod unix;
mod zone;

use std::sync::Arc;

use model::{CronDialect, DstRule};

use dst::Search;
use quartz_walk::Walk;
use zone::Window;

pub use error::{CronError, Field};
pub use pattern::{EXPRESSION_MAX, Pattern};
pub use zone::{Zone, ZoneCache, ZoneError, tzdata_version};

/// A pattern in a zone: the planned instants of a trigger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    pub pattern: Arc<Pattern>,
    pub zone: Zone,
    pub dst: DstRule,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    #[error(transparent)]
    Cron(#[from] CronError),
    #[error(transparent)]
    Zone(#[from] ZoneError),
}

const MICROS: i64 = 1_000_000;
/// 1969-12-01 and 2300-02-01: outside lies no fire, and inside no sum of seconds overflows.
const EARLIEST: i64 = -31 * civil::DAY;
const LATEST: i64 = (civil::LAST_DAY + 32) * civil::DAY;
/// How far Quartz's calendar may stray past the fire it finally names.
const STRAY: i64 = 4 * civil::DAY;

impl Schedule {
    /// Compiles an expression for a zone given by its IANA name.
    pub fn new(dialect: CronDialect, expression: &str, zone: &str, dst: DstRule) -> Result<Schedule, ScheduleError> {
        Ok(Schedule { pattern: Arc::new(Pattern::parse(dialect, expression)?), zone: Zone::named(zone)?, dst })
    }

    /// The first fire after `t`. Times are microseconds UTC since 1970.
    pub fn next_after(&self, t: i64) -> Option<i64> {
        let second = second_after(t)?;
        self.next_from(second, self.zone.window(second))
    }

    /// [`Schedule::next_after`] for a caller who asks for many schedules around one instant.
    pub fn next_after_cached(&self, t: i64, cache: &mut ZoneCache) -> Option<i64> {
        let second = second_after(t)?;
        self.next_from(second, cache.window(&self.zone, second))
    }

    /// The last fire before `t`. Under [`DstRule::Quartz`], which has no such question, the last instant that Quartz names
    /// when asked one second earlier.
    pub fn prev_before(&self, t: i64) -> Option<i64> {
        let second = (t.saturating_sub(1)).div_euclid(MICROS).min(LATEST);
        if second < EARLIEST {
            return None;
        }
        let fire = Search::new(&self.pattern, &self.zone, self.dst).prev(second, self.zone.window(second))?;
        Some(fire * MICROS)
    }

    fn next_from(&self, second: i64, window: Window) -> Option<i64> {
        let fire = match self.dst {
            DstRule::Policy { .. } => Search::new(&self.pattern, &self.zone, self.dst).next(second, window)?,
            DstRule::Quartz => self.next_quartz(second, window)?,
        };
        Some(fire * MICROS)
    }

    /// Far from clock changes Quartz does what the masks say; close to one it must be followed step by step.
    fn next_quartz(&self, second: i64, window: Window) -> Option<i64> {
        let offset = i64::from(window.offset);
        if second >= window.from.saturating_add(STRAY)
            && let Some(wall) = self.pattern.next_wall(second + offset)
            && wall - offset < window.until - STRAY
        {
            return Some(wall - offset);
        }
        Walk { pattern: &self.pattern, zone: &self.zone }.next(second)
    }
}

/// The first whole second after `t` that is worth asking about.
fn second_after(t: i64) -> Option<i64> {
    let second = t.div_euclid(MICROS) + 1;
    (second <= LATEST).then(|| second.max(EARLIEST))
}
