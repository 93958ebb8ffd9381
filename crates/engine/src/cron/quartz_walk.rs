//! Follows Quartz 2.3.2 second by second field through the days around a clock change. Quartz moves a lenient Java
//! calendar; every move is settled at once, and a settled time in a repeated hour is the second pass, in a skipped hour
//! the same distance behind the gap. Which fires survive depends on where the calendar came from, so this walks the same way.

use super::civil::DAY;
use super::pattern::{Pattern, at_or_after};
use super::zone::Zone;

const HOUR: i64 = 3600;
const MINUTE: i64 = 60;

pub(super) struct Walk<'a> {
    pub(super) pattern: &'a Pattern,
    pub(super) zone: &'a Zone,
}

impl Walk<'_> {
    /// The fire Quartz names when asked for the first at or after `second`.
    pub(super) fn next(&self, second: i64) -> Option<i64> {
        let mut wall = self.settle(second + i64::from(self.zone.window(second).offset)).max(0);
        loop {
            wall = self.to_second(wall);
            if let Some(moved) = self.to_minute(wall).or_else(|| self.to_hour(wall)) {
                wall = moved;
                continue;
            }
            let today = wall / DAY;
            let day = self.pattern.next_day(today)?;
            if day == today {
                return Some(self.instant(wall));
            }
            wall = self.settle(day * DAY);
        }
    }

    fn to_second(&self, wall: i64) -> i64 {
        let second = (wall % MINUTE) as u32;
        let minute = wall - i64::from(second);
        self.settle(match at_or_after(self.pattern.seconds, second) {
            Some(second) => minute + i64::from(second),
            None => minute + MINUTE + i64::from(self.pattern.seconds.trailing_zeros()),
        })
    }

    /// Where the calendar goes when its minute is not wanted.
    fn to_minute(&self, wall: i64) -> Option<i64> {
        let (day, hour, minute) = (wall / DAY, wall % DAY / HOUR, (wall % HOUR / MINUTE) as u32);
        match at_or_after(self.pattern.minutes, minute) {
            Some(wanted) if wanted == minute => None,
            Some(wanted) => Some(self.set_hour(day, hour, wanted.into())),
            None => Some(self.set_hour(day, hour + 1, self.pattern.minutes.trailing_zeros().into())),
        }
    }

    fn to_hour(&self, wall: i64) -> Option<i64> {
        let (day, hour) = (wall / DAY, (wall % DAY / HOUR) as u32);
        match at_or_after(self.pattern.hours.into(), hour) {
            Some(wanted) if wanted == hour => None,
            Some(wanted) => Some(self.set_hour(day, wanted.into(), 0)),
            None => Some(self.set_hour(day + 1, self.pattern.hours.trailing_zeros().into(), 0)),
        }
    }

    /// Sets the hour and, when the clock refuses it, sets the one after on whatever time came out.
    fn set_hour(&self, day: i64, hour: i64, minute: i64) -> i64 {
        let wall = self.settle(day * DAY + hour * HOUR + minute * MINUTE);
        if wall % DAY / HOUR == hour || hour == 24 {
            return wall;
        }
        self.settle(wall - wall % DAY + (hour + 1) * HOUR + wall % HOUR)
    }

    fn settle(&self, wall: i64) -> i64 {
        let instant = self.instant(wall);
        instant + i64::from(self.zone.window(instant).offset)
    }

    /// A transition counts as soon as the wall clock shows its new time.
    fn instant(&self, wall: i64) -> i64 {
        let mut window = self.zone.window(wall - 2 * DAY);
        while window.until != i64::MAX && wall >= window.until + i64::from(window.after) {
            window = self.zone.window(window.until);
        }
        wall - i64::from(window.offset)
    }
}
