//! A compiled expression: one bit mask per field and a day rule. Finds the next and previous matching wall-clock second;
//! knows nothing of time zones.

use model::CronDialect;

use super::civil::{DAY, FIRST_YEAR, LAST_DAY, LAST_YEAR, date_of, first_of, weekday_of};
use super::days::{Days, Month};
use super::{CronError, Field, quartz, unix};

/// Longer expressions are refused unread.
pub const EXPRESSION_MAX: usize = 512;

/// Bit `n` is the year 1970 + n.
pub(super) type Years = [u64; 6];

const ALL_HOURS: u32 = 0xff_ffff;
const ALL_MONTHS: u16 = 0x1ffe;

/// What an expression means, without its text and its zone. Small, so that a million schedules may share a few of them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Pattern {
    pub(super) seconds: u64,
    pub(super) minutes: u64,
    /// `None` is every year.
    pub(super) years: Option<Box<Years>>,
    pub(super) hours: u32,
    pub(super) days: Days,
    pub(super) months: u16,
}

impl Pattern {
    pub fn parse(dialect: CronDialect, expression: &str) -> Result<Pattern, CronError> {
        if expression.len() > EXPRESSION_MAX {
            let message = format!("longer than {EXPRESSION_MAX} bytes");
            return Err(CronError::new(Field::Expression, EXPRESSION_MAX, message));
        }
        match dialect {
            CronDialect::Quartz => quartz::parse(expression),
            CronDialect::Unix => unix::parse(expression),
        }
    }

    /// Fires in every hour of the day, so people think of it as an interval and not as a time on the clock.
    pub fn is_interval_like(&self) -> bool {
        self.hours == ALL_HOURS
    }

    /// The first matching wall-clock second at or after `wall` (seconds since 1970-01-01T00:00 on that wall clock).
    pub(super) fn next_wall(&self, wall: i64) -> Option<i64> {
        let wall = wall.max(0);
        let today = wall / DAY;
        let day = self.next_day(today)?;
        if day > today {
            return Some(day * DAY + self.first_time());
        }
        if let Some(time) = self.next_time(wall % DAY) {
            return Some(day * DAY + time);
        }
        Some(self.next_day(today + 1)? * DAY + self.first_time())
    }

    /// The last matching wall-clock second at or before `wall`.
    pub(super) fn prev_wall(&self, wall: i64) -> Option<i64> {
        let wall = wall.min(LAST_DAY * DAY + DAY - 1);
        let today = wall.div_euclid(DAY);
        let day = self.prev_day(today)?;
        if day < today {
            return Some(day * DAY + self.last_time());
        }
        if let Some(time) = self.prev_time(wall % DAY) {
            return Some(day * DAY + time);
        }
        Some(self.prev_day(today - 1)? * DAY + self.last_time())
    }

    fn first_time(&self) -> i64 {
        time(self.hours.trailing_zeros(), self.minutes.trailing_zeros(), self.seconds.trailing_zeros())
    }

    fn last_time(&self) -> i64 {
        time(self.hours.ilog2(), self.minutes.ilog2(), self.seconds.ilog2())
    }

    fn next_time(&self, at: i64) -> Option<i64> {
        let (hour, minute, second) = clock(at);
        if self.hours >> hour & 1 == 1 {
            if self.minutes >> minute & 1 == 1
                && let Some(second) = at_or_after(self.seconds, second)
            {
                return Some(time(hour, minute, second));
            }
            if let Some(minute) = at_or_after(self.minutes, minute + 1) {
                return Some(time(hour, minute, self.seconds.trailing_zeros()));
            }
        }
        let hour = at_or_after(self.hours.into(), hour + 1)?;
        Some(time(hour, self.minutes.trailing_zeros(), self.seconds.trailing_zeros()))
    }

    fn prev_time(&self, at: i64) -> Option<i64> {
        let (hour, minute, second) = clock(at);
        if self.hours >> hour & 1 == 1 {
            if self.minutes >> minute & 1 == 1
                && let Some(second) = before(self.seconds, second + 1)
            {
                return Some(time(hour, minute, second));
            }
            if let Some(minute) = before(self.minutes, minute) {
                return Some(time(hour, minute, self.seconds.ilog2()));
            }
        }
        Some(time(before(self.hours.into(), hour)?, self.minutes.ilog2(), self.seconds.ilog2()))
    }

    /// The first matching day at or after `day`. The everyday rules are answered without asking for the date.
    pub(super) fn next_day(&self, day: i64) -> Option<i64> {
        if day > LAST_DAY {
            return None;
        }
        if self.months == ALL_MONTHS && self.years.is_none() {
            match self.days {
                Days::Any => return Some(day),
                Days::OfWeek(weekdays) => {
                    let week = (u32::from(weekdays) * 0x81) >> weekday_of(day);
                    return Some(day + i64::from(week.trailing_zeros())).filter(|day| *day <= LAST_DAY);
                }
                _ => {}
            }
        }
        self.next_dated(day)
    }

    fn prev_day(&self, day: i64) -> Option<i64> {
        if day < 0 {
            return None;
        }
        if self.months == ALL_MONTHS && self.years.is_none() && self.days == Days::Any {
            return Some(day);
        }
        self.prev_dated(day)
    }

    fn next_dated(&self, day: i64) -> Option<i64> {
        let date = date_of(day);
        let (mut year, mut month) = (date.year, date.month);
        let mut first = day - i64::from(date.day) + 1;
        let mut open = !0u32 << date.day;
        if !self.has_year(year) || self.months >> month & 1 == 0 {
            (year, month) = self.month_after(year, month)?;
            (first, open) = (first_of(year, month), !0);
        }
        loop {
            let days = self.days.in_month(Month::new(year, month, weekday_of(first))) & open;
            if days != 0 {
                return Some(first + i64::from(days.trailing_zeros()) - 1);
            }
            (year, month) = self.month_after(year, month)?;
            (first, open) = (first_of(year, month), !0);
        }
    }

    fn prev_dated(&self, day: i64) -> Option<i64> {
        let date = date_of(day);
        let (mut year, mut month) = (date.year, date.month);
        let mut first = day - i64::from(date.day) + 1;
        let mut open = ((2u64 << date.day) - 1) as u32;
        if !self.has_year(year) || self.months >> month & 1 == 0 {
            (year, month) = self.month_before(year, month)?;
            (first, open) = (first_of(year, month), !0);
        }
        loop {
            let days = self.days.in_month(Month::new(year, month, weekday_of(first))) & open;
            if days != 0 {
                return Some(first + i64::from(days.ilog2()) - 1);
            }
            (year, month) = self.month_before(year, month)?;
            (first, open) = (first_of(year, month), !0);
        }
    }

    fn has_year(&self, year: i32) -> bool {
        let bit = (year - FIRST_YEAR) as usize;
        self.years.as_deref().is_none_or(|years| years[bit / 64] >> (bit % 64) & 1 == 1)
    }

    fn month_after(&self, year: i32, month: u32) -> Option<(i32, u32)> {
        if let Some(month) = at_or_after(self.months.into(), month + 1)
            && self.has_year(year)
        {
            return Some((year, month));
        }
        let year = (year + 1..=LAST_YEAR).find(|year| self.has_year(*year))?;
        Some((year, self.months.trailing_zeros()))
    }

    fn month_before(&self, year: i32, month: u32) -> Option<(i32, u32)> {
        if let Some(month) = before(self.months.into(), month)
            && self.has_year(year)
        {
            return Some((year, month));
        }
        let year = (FIRST_YEAR..year).rev().find(|year| self.has_year(*year))?;
        Some((year, self.months.ilog2()))
    }
}

/// The lowest set bit at or above `from`.
pub(super) fn at_or_after(mask: u64, from: u32) -> Option<u32> {
    let open = mask >> from;
    (open != 0).then(|| from + open.trailing_zeros())
}

/// The highest set bit below `end`.
fn before(mask: u64, end: u32) -> Option<u32> {
    let open = mask & ((1 << end) - 1);
    (open != 0).then(|| open.ilog2())
}

fn clock(time: i64) -> (u32, u32, u32) {
    let time = time as u32;
    (time / 3600, time / 60 % 60, time % 60)
}

fn time(hour: u32, minute: u32, second: u32) -> i64 {
    i64::from(hour * 3600 + minute * 60 + second)
}
