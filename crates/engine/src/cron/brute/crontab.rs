//! Crontab text to sets, for expressions that are known to be good.

use std::collections::BTreeSet;

use super::meaning::{Day, Meaning};

pub(super) fn read(expression: &str) -> Option<Meaning> {
    let text = expression.to_lowercase();
    let text = match text.trim() {
        "@hourly" => "0 * * * *",
        "@daily" | "@midnight" => "0 0 * * *",
        "@weekly" => "0 0 * * sun",
        "@monthly" => "0 0 1 * *",
        "@yearly" | "@annually" => "0 0 1 jan *",
        other => other,
    };
    let fields: Vec<&str> = text.split_whitespace().collect();
    let [minutes, hours, days, months, weekdays] = fields[..] else { return None };
    Some(Meaning {
        seconds: BTreeSet::from([0]),
        minutes: set(minutes, 0, 59, "")?,
        hours: set(hours, 0, 23, "")?,
        months: set(months, 1, 12, "-jan-feb-mar-apr-may-jun-jul-aug-sep-oct-nov-dec")?,
        years: None,
        day: {
            let month_days = set(days, 1, 31, "")?;
            let week_days =
                set(weekdays, 0, 7, "sun-mon-tue-wed-thu-fri-sat")?.into_iter().map(|day| day % 7).collect();
            match days.starts_with('*') || weekdays.starts_with('*') {
                true => Day::Both(month_days, week_days),
                false => Day::Either(month_days, week_days),
            }
        },
    })
}

fn set(field: &str, min: i8, max: i8, names: &str) -> Option<BTreeSet<i8>> {
    let mut set = BTreeSet::new();
    for item in field.split(',') {
        let (span, step) = item.split_once('/').map_or((item, None), |(span, step)| (span, Some(step)));
        let (from, to) = match span.split_once('-') {
            _ if span == "*" => (min, max),
            Some((from, "sun")) => (value(from, names)?, 7),
            Some((from, to)) => (value(from, names)?, value(to, names)?),
            None if step.is_some() => (value(span, names)?, max),
            None => (value(span, names)?, value(span, names)?),
        };
        // A starred week has seven days, though 7 may be written.
        let to = if span == "*" && max == 7 { 6 } else { to };
        let step: u64 = step.unwrap_or("1").parse().ok()?;
        set.extend((from..=to).filter(|value| ((value - from) as u64).is_multiple_of(step)));
    }
    set.iter().all(|value| (min..=max).contains(value)).then_some(set)
}

fn value(text: &str, names: &str) -> Option<i8> {
    text.parse()
        .ok()
        .or_else(|| names.split('-').position(|name| !name.is_empty() && name == text).map(|place| place as i8))
}
