//! The slow and plain answer to "when did this fire?": every date, hour, minute and second of a window is tried against
//! the meaning of the fields, and jiff says what the zone makes of it. Shares no code with the masks, the search or the zone
//! tables, so that `duly verify` does not check the engine with itself. Never refuses with a reason: that is the parser's work.

mod crontab;
mod meaning;
mod quartz;

use jiff::civil::{Date, date};
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};
use jiff::{Timestamp, ToSpan};
use model::{CronDialect, DstRule, Fold, Gap};

use super::Zone;
use meaning::Meaning;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot read the {dialect:?} expression '{expression}'")]
pub struct Unreadable {
    pub dialect: CronDialect,
    pub expression: String,
}

/// All fires in `[from, to)`, in order. Times are microseconds UTC. Under [`DstRule::Quartz`] these are the fires of a
/// trigger that has been running since before the window; where two hours are skipped at once (Antarctica/Troll) Quartz
/// loses a fire behind the gap that is listed here.
pub fn fires(
    dialect: CronDialect,
    expression: &str,
    zone: &Zone,
    dst: DstRule,
    from: i64,
    to: i64,
) -> Result<Vec<i64>, Unreadable> {
    let meaning = match dialect {
        CronDialect::Quartz => quartz::read(expression),
        CronDialect::Unix => crontab::read(expression),
    };
    let unreadable = || Unreadable { dialect, expression: expression.to_owned() };
    let walk = Walk { meaning: meaning.ok_or_else(unreadable)?, tz: zone.tz(), dst };
    let mut fires = Vec::new();
    let mut day = local_date(walk.tz, from).yesterday().unwrap_or(Date::MIN).max(date(1970, 1, 1));
    let last = local_date(walk.tz, to).tomorrow().unwrap_or(Date::MAX).min(date(2299, 12, 31));
    while day <= last {
        if walk.meaning.has_date(day) {
            walk.try_hours(Day::new(day), &mut fires);
        }
        day = day.tomorrow().expect("the year 2300 exists");
    }
    let mut fires: Vec<i64> = fires.into_iter().map(|second| second * 1_000_000).collect();
    fires.retain(|fire| (from..to).contains(fire));
    fires.sort_unstable();
    fires.dedup();
    Ok(fires)
}

fn local_date(tz: &TimeZone, micros: i64) -> Date {
    let instant =
        Timestamp::from_microsecond(micros).unwrap_or(if micros < 0 { Timestamp::MIN } else { Timestamp::MAX });
    tz.to_datetime(instant).date()
}

struct Walk<'a> {
    meaning: Meaning,
    tz: &'a TimeZone,
    dst: DstRule,
}

impl Walk<'_> {
    fn try_hours(&self, day: Day, fires: &mut Vec<i64>) {
        for &hour in &self.meaning.hours {
            let steady = self.steady(day, hour);
            for &minute in &self.meaning.minutes {
                for &second in &self.meaning.seconds {
                    let time = Time { hour, minute, second };
                    match steady {
                        Some(offset) => fires.push(day.instant(time, offset)),
                        None => self.try_second(day, time, fires),
                    }
                }
            }
        }
    }

    /// The offset of an hour in which the clock does nothing special: both its ends are plain and alike.
    fn steady(&self, day: Day, hour: i8) -> Option<Offset> {
        let offset_at = |minute, second| match self.offset(day, Time { hour, minute, second }) {
            AmbiguousOffset::Unambiguous { offset } => Some(offset),
            AmbiguousOffset::Gap { .. } | AmbiguousOffset::Fold { .. } => None,
        };
        offset_at(0, 0).filter(|offset| offset_at(59, 59) == Some(*offset))
    }

    fn try_second(&self, day: Day, time: Time, fires: &mut Vec<i64>) {
        let at = |offset| day.instant(time, offset);
        let every_hour = self.meaning.hours.len() == 24;
        match (self.offset(day, time), self.dst) {
            (AmbiguousOffset::Unambiguous { .. }, DstRule::Quartz) if self.lost_by_quartz(day, time) => {}
            (AmbiguousOffset::Unambiguous { offset }, _) => fires.push(at(offset)),
            (AmbiguousOffset::Gap { before, .. }, DstRule::Policy { gap: Gap::AtGapEnd, .. }) if !every_hour => {
                fires.push(self.jump_before(at(before)));
            }
            (AmbiguousOffset::Gap { .. }, _) => {}
            (AmbiguousOffset::Fold { before, after }, DstRule::Policy { fold, .. }) => {
                if every_hour || fold != Fold::Second {
                    fires.push(at(before));
                }
                if every_hour || fold != Fold::First {
                    fires.push(at(after));
                }
            }
            (AmbiguousOffset::Fold { after, .. }, DstRule::Quartz) => fires.push(at(after)),
        }
    }

    fn offset(&self, day: Day, time: Time) -> AmbiguousOffset {
        self.tz.to_ambiguous_timestamp(day.date.at(time.hour, time.minute, time.second, 0)).offset()
    }

    /// The clock change at or before an instant.
    fn jump_before(&self, second: i64) -> i64 {
        let next = Timestamp::from_second(second + 1).expect("inside the years that are tried");
        self.tz.preceding(next).next().expect("a gap has a beginning").timestamp().as_second()
    }

    /// Where half an hour is skipped at the start of an hour (Lord Howe), Quartz comes from the hour before, asks for the
    /// first minute it wants, is put as far behind the gap as that minute lay in it, and misses what is in between.
    fn lost_by_quartz(&self, day: Day, time: Time) -> bool {
        let wanted = *self.meaning.minutes.first().expect("a field has a value");
        let skipped = |minute: &i8| {
            let time = Time { hour: time.hour, minute: *minute, second: 0 };
            matches!(self.offset(day, time), AmbiguousOffset::Gap { .. })
        };
        let gap = (0..60).take_while(skipped).count() as i8;
        let came_from_before = time.hour > 0 && self.meaning.hours.contains(&(time.hour - 1));
        came_from_before && wanted > 0 && wanted < gap && time.minute < gap + wanted
    }
}

/// A date and its midnight, in seconds as if the zone were UTC.
#[derive(Clone, Copy)]
struct Day {
    date: Date,
    midnight: i64,
}

#[derive(Clone, Copy)]
struct Time {
    hour: i8,
    minute: i8,
    second: i8,
}

impl Day {
    fn new(date: Date) -> Day {
        let midnight = Offset::UTC.to_timestamp(date.at(0, 0, 0, 0)).expect("inside the years that are tried");
        Day { date, midnight: midnight.as_second() }
    }

    fn instant(self, time: Time, offset: Offset) -> i64 {
        let passed = i64::from(time.hour) * 3600 + i64::from(time.minute) * 60 + i64::from(time.second);
        self.midnight + passed - i64::from(offset.seconds())
    }
}

/// The date so many days away.
fn days_after(day: Date, days: i32) -> Date {
    day.checked_add(days.days()).expect("inside the years that are tried")
}
