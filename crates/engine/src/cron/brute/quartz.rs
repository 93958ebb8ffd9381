//! Quartz text to sets, for expressions that are known to be good. Reads each element by its shape and passes over what
//! Quartz passes over.

use std::collections::BTreeSet;

use super::meaning::{Day, Meaning};

const MONTHS: &str = "JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC";
const WEEKDAYS: &str = "SUN MON TUE WED THU FRI SAT";

/// The lowest and highest value of a field, and the names of its values.
#[derive(Clone, Copy)]
struct Field {
    min: i32,
    max: i32,
    names: &'static str,
}

pub(super) fn read(expression: &str) -> Option<Meaning> {
    let text = expression.to_uppercase();
    let fields: Vec<&str> = text.split([' ', '\t']).filter(|field| !field.is_empty()).collect();
    let field = |place: usize| fields.get(place).map(|field| field.trim_matches(|c: char| c <= ' '));
    let small = |place, min, max, names| -> Option<BTreeSet<i8>> {
        let values = set(field(place)?, Field { min, max, names })?.into_iter();
        values.map(|value| (min..=max).contains(&value).then_some(value as i8)).collect()
    };
    let years = match field(6) {
        Some(years) => Some(set(years, Field { min: 1970, max: 2299, names: "" })?),
        None => None,
    };
    Some(Meaning {
        seconds: small(0, 0, 59, "")?,
        minutes: small(1, 0, 59, "")?,
        hours: small(2, 0, 23, "")?,
        months: small(4, 1, 12, MONTHS)?,
        years: years.map(|years| years.into_iter().filter_map(|year| i16::try_from(year).ok()).collect()),
        day: if is_open(field(5)?) { day_of_month(field(3)?)? } else { day_of_week(field(5)?)? },
    })
}

/// A day field that leaves the choice to the other one, by `?` or by the number Quartz keeps for it.
fn is_open(field: &str) -> bool {
    let by_number = |item| leading(item) == Some(98) && !after_number(item).starts_with(['-', '/']);
    items(field).any(|item| item.starts_with('?') || by_number(item))
}

fn items(field: &str) -> impl Iterator<Item = &str> {
    field.split(',').filter(|item| !item.is_empty())
}

fn day_of_month(field: &str) -> Option<Day> {
    if let Some(rest) = field.strip_prefix('L') {
        let before = rest.trim_matches(['-', 'W']);
        let before = if before.is_empty() { 0 } else { before.parse().ok().filter(|days| (0..=30).contains(days))? };
        return Some(if rest.ends_with('W') { Day::WorkdayBeforeLast(before) } else { Day::BeforeLast(before) });
    }
    let days = set(field, Field { min: 1, max: 31, names: "" })?;
    if !days.iter().all(|day| (1..=31).contains(day)) {
        return None;
    }
    if items(field).any(|item| after_number(item).starts_with('W')) {
        return Some(Day::WorkdayNear(*days.first()?));
    }
    Some(Day::OfMonth(days.into_iter().map(|day| day as i8).collect()))
}

fn day_of_week(field: &str) -> Option<Day> {
    let days = set(field, Field { min: 1, max: 7, names: WEEKDAYS })?;
    let first = *days.first()?;
    if let Some(nth) = items(field).find_map(|item| after_value(item).strip_prefix('#')) {
        let nth = nth.parse().ok()?;
        return Some(match first {
            0 => Day::NthOfWeekday(6, nth),
            1..=7 => Day::NthOfWeekday(first as i8 - 1, nth),
            _ => Day::Never,
        });
    }
    if items(field).any(|item| !item.starts_with('L') && after_value(item).starts_with('L')) {
        return Some(Day::LastOfWeekday(first as i8 - 1));
    }
    Some(Day::OfWeek(days.into_iter().map(|day| day as i8 - 1).collect()))
}

fn after_number(item: &str) -> &str {
    item.trim_start_matches(|c: char| c.is_ascii_digit())
}

fn leading(item: &str) -> Option<i32> {
    item[..item.len() - after_number(item).len()].parse().ok()
}

/// What follows the leading number or three-letter name.
fn after_value(item: &str) -> &str {
    if item.starts_with(|c: char| c.is_ascii_uppercase()) { item.get(3..).unwrap_or("") } else { after_number(item) }
}

fn set(field: &str, kind: Field) -> Option<BTreeSet<i32>> {
    let mut set = BTreeSet::new();
    for item in items(field) {
        set.extend(values(item, kind)?);
    }
    Some(set)
}

fn values(item: &str, kind: Field) -> Option<Vec<i32>> {
    if item.starts_with('L') && (item.len() < 3 || item.starts_with("L-")) {
        return Some(if kind.max == 7 { vec![7] } else { vec![] });
    }
    if item.starts_with(|c: char| c.is_ascii_uppercase()) {
        let from = name(item, kind)?;
        return match item[3..].strip_prefix('-') {
            Some(to) => round(from, name(to, kind)?, 1, kind),
            None => Some(vec![from]),
        };
    }
    if let Some(step) = item.strip_prefix('/').or_else(|| item.strip_prefix("*/")) {
        return round(kind.min, kind.max, step.parse::<i32>().ok()?.max(1), kind);
    }
    if item.starts_with('*') {
        return round(kind.min, kind.max, 1, kind);
    }
    if item.starts_with('?') {
        return Some(vec![]);
    }
    numbers(item, kind)
}

fn name(text: &str, kind: Field) -> Option<i32> {
    let word = text.get(..3)?;
    kind.names.split(' ').position(|name| name == word).map(|place| place as i32 + 1)
}

/// `5`, `5-9`, `5-9/2`, `5/2`; 99 stands for the star, and 98 for the open sign, which has no values.
fn numbers(item: &str, kind: Field) -> Option<Vec<i32>> {
    let rest = after_number(item);
    let (from, star) = match leading(item)? {
        99 if !rest.starts_with('#') => (kind.min, true),
        98 if kind.max == 31 || kind.max == 7 => return Some(vec![]),
        from => (from, false),
    };
    if let Some(range) = rest.strip_prefix('-') {
        let step = after_number(range).strip_prefix('/').map_or(Some(1), leading)?;
        return round(from, leading(range)?, step, kind);
    }
    match rest.strip_prefix('/') {
        Some(step) => round(from, kind.max, leading(step)?.max(i32::from(star)), kind),
        None if star => round(kind.min, kind.max, 1, kind),
        None => Some(vec![from]),
    }
}

/// From one value to another by steps, past the end of the field and round to its beginning if it must be.
fn round(from: i32, to: i32, step: i32, kind: Field) -> Option<Vec<i32>> {
    if step == 0 {
        return Some(vec![from]);
    }
    let size = kind.max - kind.min + 1;
    let end = if to < from { to.saturating_add(size) } else { to.min(kind.max) };
    let wrapped = |value| if value > kind.max { value - size } else { value };
    Some((from..=end).step_by(usize::try_from(step).ok()?).map(wrapped).collect())
}
