//! What an expression asks for, as plain sets, and whether a date is among it.

use std::collections::BTreeSet;

use jiff::civil::{Date, Weekday};

use super::days_after;

pub(super) struct Meaning {
    pub(super) seconds: BTreeSet<i8>,
    pub(super) minutes: BTreeSet<i8>,
    pub(super) hours: BTreeSet<i8>,
    pub(super) months: BTreeSet<i8>,
    /// `None` is every year.
    pub(super) years: Option<BTreeSet<i16>>,
    pub(super) day: Day,
}

/// Weekdays count from 0 = Sunday.
pub(super) enum Day {
    OfMonth(BTreeSet<i8>),
    OfWeek(BTreeSet<i8>),
    Either(BTreeSet<i8>, BTreeSet<i8>),
    Both(BTreeSet<i8>, BTreeSet<i8>),
    /// So many days before the last.
    BeforeLast(i32),
    WorkdayBeforeLast(i32),
    WorkdayNear(i32),
    LastOfWeekday(i8),
    NthOfWeekday(i8, i8),
    Never,
}

impl Meaning {
    pub(super) fn has_date(&self, date: Date) -> bool {
        self.months.contains(&date.month())
            && self.years.as_ref().is_none_or(|years| years.contains(&date.year()))
            && self.has_day(date)
    }

    fn has_day(&self, date: Date) -> bool {
        let weekday = date.weekday().to_sunday_zero_offset();
        match &self.day {
            Day::OfMonth(days) => days.contains(&date.day()),
            Day::OfWeek(weekdays) => weekdays.contains(&weekday),
            Day::Either(days, weekdays) => days.contains(&date.day()) || weekdays.contains(&weekday),
            Day::Both(days, weekdays) => days.contains(&date.day()) && weekdays.contains(&weekday),
            Day::BeforeLast(days) => date == days_after(date.last_of_month(), -days),
            Day::WorkdayBeforeLast(days) => date == workday(date, days_after(date.last_of_month(), -days)),
            Day::WorkdayNear(day) => {
                let wanted = days_after(date.first_of_month(), day - 1);
                let missed = date.month() == 2 && wanted.month() != 2 && self.months.contains(&1);
                !missed && date == workday(date, wanted)
            }
            Day::LastOfWeekday(wanted) => weekday == *wanted && days_after(date, 7).month() != date.month(),
            Day::NthOfWeekday(wanted, nth) => weekday == *wanted && (date.day() - 1) / 7 + 1 == *nth,
            Day::Never => false,
        }
    }
}

/// The working day nearest to `wanted`, seen from the month that `date` lies in.
fn workday(date: Date, wanted: Date) -> Date {
    match wanted.weekday() {
        Weekday::Saturday if wanted == date.first_of_month() => days_after(wanted, 2),
        Weekday::Saturday => days_after(wanted, -1),
        Weekday::Sunday if wanted == date.last_of_month() => days_after(wanted, -2),
        Weekday::Sunday => days_after(wanted, 1),
        _ => wanted,
    }
}
