//! Days since 1970-01-01 to year, month, day and back, for the years a pattern may fire in. Written out because the
//! search runs them for every next fire; the tests hold every day of the range against jiff.

pub(super) const FIRST_YEAR: i32 = 1970;
/// Quartz itself stops a hundred years after the day its class was loaded; a pattern must not change with the calendar.
pub(super) const LAST_YEAR: i32 = 2299;
pub(super) const DAY: i64 = 86_400;
/// 2299-12-31.
pub(super) const LAST_DAY: i64 = 120_529;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Date {
    pub(super) year: i32,
    pub(super) month: u32,
    pub(super) day: u32,
}

/// The civil date of a day number. Counts years from 1 March, so that the leap day ends one.
pub(super) fn date_of(day: i64) -> Date {
    debug_assert!((0..=LAST_DAY).contains(&day));
    let since_march_0000 = day as u32 + 719_468;
    let century = (4 * since_march_0000 + 3) / 146_097;
    let of_century = since_march_0000 - century * 146_097 / 4;
    let year_of_century = (4 * of_century + 3) / 1461;
    let of_year = of_century - year_of_century * 1461 / 4;
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let (month, next) = if from_march < 10 { (from_march + 3, 0) } else { (from_march - 9, 1) };
    Date { year: (century * 100 + year_of_century + next) as i32, month, day }
}

/// The day number of the first of a month.
pub(super) fn first_of(year: i32, month: u32) -> i64 {
    let (year, from_march) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leaps = year / 4 - year / 100 + year / 400;
    i64::from(year) * 365 + i64::from(leaps) + i64::from((153 * from_march + 2) / 5) - 719_468
}

pub(super) fn month_len(year: i32, month: u32) -> u32 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// 0 = Sunday.
pub(super) fn weekday_of(day: i64) -> u32 {
    ((day + 4) % 7) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_the_range_agrees_with_jiff() {
        let mut date = jiff::civil::date(1970, 1, 1);
        for day in 0..=LAST_DAY {
            let ours = date_of(day);
            assert_eq!((ours.year, ours.month, ours.day), (date.year().into(), date.month() as u32, date.day() as u32));
            assert_eq!(weekday_of(day), date.weekday().to_sunday_zero_offset() as u32, "{date}");
            assert_eq!(month_len(ours.year, ours.month), date.days_in_month() as u32, "{date}");
            assert_eq!(first_of(ours.year, ours.month) + i64::from(ours.day) - 1, day, "{date}");
            date = date.tomorrow().unwrap();
        }
        assert_eq!(date, jiff::civil::date(2300, 1, 1));
    }
}
