//! Which days of one month a pattern means, as a bit mask (bit 1 is the first). Never looks at the time of day.

use super::civil::month_len;

/// The day rule of a pattern. Weekdays are bits or numbers from 0 = Sunday.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Days {
    Any,
    OfWeek(u8),
    OfMonth(u32),
    /// Crontab with both day fields restricted: one of them is enough.
    Either {
        month_days: u32,
        weekdays: u8,
    },
    /// Crontab with a starred and stepped day field (`*/2`): both must agree.
    Both {
        month_days: u32,
        weekdays: u8,
    },
    /// `L`, `L-3`.
    Last {
        before: u8,
    },
    /// `LW`, `L-3W`.
    LastWorkday {
        before: u8,
    },
    /// `15W`. `february` says whether a day February does not have may still be served there.
    NearestWorkday {
        day: u8,
        february: bool,
    },
    /// `6L`.
    LastWeekday(u8),
    /// `6#3`.
    NthWeekday {
        weekday: u8,
        nth: u8,
    },
    Never,
}

/// A month, with what the day rules ask about it.
#[derive(Clone, Copy)]
pub(super) struct Month {
    pub(super) month: u32,
    pub(super) len: u32,
    /// The weekday of the first.
    pub(super) first: u32,
}

impl Month {
    pub(super) fn new(year: i32, month: u32, first: u32) -> Month {
        Month { month, len: month_len(year, month), first }
    }

    fn all(self) -> u32 {
        ((1u64 << (self.len + 1)) - 2) as u32
    }

    /// The weekday of a day that may lie outside the month.
    fn weekday(self, day: i32) -> i32 {
        (self.first as i32 + day - 1).rem_euclid(7)
    }

    fn weekly(self, weekdays: u8) -> u32 {
        let week = u64::from(weekdays);
        let from_first = (week >> self.first | week << (7 - self.first)) & 0x7f;
        let every_week = from_first * 0x1020_4081;
        (every_week << 1) as u32 & self.all()
    }

    fn bit(self, day: i32) -> u32 {
        if day >= 1 && day <= self.len as i32 { 1 << day } else { 0 }
    }

    /// The working day Quartz takes for `day`: Saturday goes back, Sunday forward, neither leaves the month. A day
    /// past the end of a short month keeps the weekday it has in the next one, so 31W is 30 April when 1 May is a Saturday.
    fn workday(self, day: i32) -> u32 {
        const SUNDAY: i32 = 0;
        const SATURDAY: i32 = 6;
        self.bit(match self.weekday(day) {
            SATURDAY if day == 1 => 3,
            SATURDAY => day - 1,
            SUNDAY if day == self.len as i32 => day - 2,
            SUNDAY => day + 1,
            _ => day,
        })
    }
}

impl Days {
    pub(super) fn in_month(&self, month: Month) -> u32 {
        match *self {
            Days::Any => month.all(),
            Days::OfWeek(weekdays) => month.weekly(weekdays),
            Days::OfMonth(days) => days & month.all(),
            Days::Either { month_days, weekdays } => month_days & month.all() | month.weekly(weekdays),
            Days::Both { month_days, weekdays } => month_days & month.weekly(weekdays),
            Days::Last { before } => month.bit(month.len as i32 - i32::from(before)),
            Days::LastWorkday { before } => month.workday(month.len as i32 - i32::from(before)),
            Days::NearestWorkday { day, february } => {
                if month.month == 2 && u32::from(day) > month.len && !february {
                    return 0;
                }
                month.workday(i32::from(day))
            }
            Days::LastWeekday(weekday) => {
                let back = (month.weekday(month.len as i32) - i32::from(weekday)).rem_euclid(7);
                month.bit(month.len as i32 - back)
            }
            Days::NthWeekday { weekday, nth } => {
                let first = 1 + (i32::from(weekday) - month.first as i32).rem_euclid(7);
                month.bit(first + 7 * (i32::from(nth) - 1))
            }
            Days::Never => 0,
        }
    }
}
