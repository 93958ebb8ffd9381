//! Reads the crontab dialect: five fields, 0 or 7 is Sunday, three-letter names, steps, `@daily` and its sisters.
//! When both day fields are restricted one of them is enough; a day field that starts with `*` (`*/2` too) is not
//! restricted and must agree, as in every Vixie-derived cron. Refuses the Quartz signs instead of guessing.

use super::days::Days;
use super::pattern::Pattern;
use super::{CronError, Field};

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const FIELDS: [Field; 5] = [Field::Minute, Field::Hour, Field::DayOfMonth, Field::Month, Field::DayOfWeek];
const ALL_MONTH_DAYS: u32 = 0xffff_fffe;
const ALL_WEEKDAYS: u8 = 0x7f;

pub(super) fn parse(expression: &str) -> Result<Pattern, CronError> {
    if let Some(name) = expression.trim().strip_prefix('@') {
        return nickname(expression, name);
    }
    let mut words = Words { expression, at: 0 };
    if let Some((at, _)) = (Words { expression, at: 0 }).nth(FIELDS.len()) {
        return Err(CronError::new(Field::Expression, at, "a crontab expression has only 5 fields"));
    }
    let mut masks = [0; 5];
    let mut starred = [false; 5];
    for (place, field) in FIELDS.into_iter().enumerate() {
        let Some((start, word)) = words.next() else {
            return Err(CronError::new(field, expression.len(), "missing; 5 fields are needed"));
        };
        masks[place] = list(field, start, word)?;
        starred[place] = word.starts_with('*');
    }
    let [minutes, hours, month_days, months, weekdays] = masks;
    let weekdays = (weekdays | weekdays >> 7) as u8 & ALL_WEEKDAYS;
    Ok(Pattern {
        seconds: 1,
        minutes,
        hours: hours as u32,
        days: days(month_days as u32, weekdays, starred[2] || starred[4]),
        months: months as u16,
        years: None,
    })
}

fn nickname(expression: &str, name: &str) -> Result<Pattern, CronError> {
    let means = match name.to_ascii_lowercase().as_str() {
        "hourly" => "0 * * * *",
        "daily" | "midnight" => "0 0 * * *",
        "weekly" => "0 0 * * 0",
        "monthly" => "0 0 1 * *",
        "yearly" | "annually" => "0 0 1 1 *",
        _ => {
            let at = expression.find('@').unwrap_or(0);
            let message = "unknown nickname; known are @hourly @daily @midnight @weekly @monthly @yearly @annually";
            return Err(CronError::new(Field::Expression, at, message));
        }
    };
    parse(means)
}

fn days(month_days: u32, weekdays: u8, agree: bool) -> Days {
    match (month_days == ALL_MONTH_DAYS, weekdays == ALL_WEEKDAYS) {
        (true, true) => Days::Any,
        (_, true) if agree => Days::OfMonth(month_days),
        (true, _) if agree => Days::OfWeek(weekdays),
        _ if agree => Days::Both { month_days, weekdays },
        _ => Days::Either { month_days, weekdays },
    }
}

/// The words of an expression with the byte each starts at.
struct Words<'a> {
    expression: &'a str,
    at: usize,
}

impl<'a> Iterator for Words<'a> {
    type Item = (usize, &'a str);

    fn next(&mut self) -> Option<(usize, &'a str)> {
        let rest = &self.expression[self.at..];
        let start = self.at + (rest.len() - rest.trim_start().len());
        let word = self.expression[start..].split(char::is_whitespace).next().filter(|word| !word.is_empty())?;
        self.at = start + word.len();
        Some((start, word))
    }
}

fn list(field: Field, start: usize, word: &str) -> Result<u64, CronError> {
    let mut mask = 0;
    let mut at = start;
    for item in word.split(',') {
        mask |= item_mask(field, at, item)?;
        at += item.len() + 1;
    }
    Ok(mask)
}

fn item_mask(field: Field, at: usize, item: &str) -> Result<u64, CronError> {
    let (min, max) = limits(field);
    let (span, step) = match item.split_once('/') {
        Some((span, step)) => (span, Some(number(field, at + span.len() + 1, step)?)),
        None => (item, None),
    };
    if step == Some(0) {
        return Err(CronError::new(field, at + span.len() + 1, "a step of 0 never moves"));
    }
    let (from, to) = match span.split_once('-') {
        _ if span == "*" => (min, if field == Field::DayOfWeek { 6 } else { max }),
        Some((from, to)) => (value(field, at, from, false)?, value(field, at + from.len() + 1, to, true)?),
        None => {
            let from = value(field, at, span, false)?;
            (from, if step.is_some() { max } else { from })
        }
    };
    if from > to {
        return Err(CronError::new(field, at, format!("{from} is after {to}")));
    }
    Ok((from..=to).step_by(step.unwrap_or(1) as usize).fold(0, |mask, value| mask | 1 << value))
}

fn limits(field: Field) -> (u32, u32) {
    match field {
        Field::Hour => (0, 23),
        Field::DayOfMonth => (1, 31),
        Field::Month => (1, 12),
        Field::DayOfWeek => (0, 7),
        Field::Minute | Field::Second | Field::Year | Field::Expression => (0, 59),
    }
}

/// A number or a name. Sunday at the end of a range is day 7, so that `FRI-SUN` is three days.
fn value(field: Field, at: usize, text: &str, ends: bool) -> Result<u32, CronError> {
    let lower = text.to_ascii_lowercase();
    let named = match field {
        Field::Month => MONTHS.iter().position(|name| *name == lower).map(|month| month as u32 + 1),
        Field::DayOfWeek if ends && lower == "sun" => Some(7),
        Field::DayOfWeek => WEEKDAYS.iter().position(|name| *name == lower).map(|day| day as u32),
        _ => None,
    };
    if let Some(named) = named {
        return Ok(named);
    }
    let (min, max) = limits(field);
    let value = number(field, at, text)?;
    let note = if field == Field::DayOfWeek { " (0=SUN … 6=SAT, 7=SUN)" } else { "" };
    if value < min {
        return Err(CronError::new(field, at, format!("{value} is below {min}{note}")));
    }
    if value > max {
        return Err(CronError::new(field, at, format!("{value} is above {max}{note}")));
    }
    Ok(value)
}

fn number(field: Field, at: usize, text: &str) -> Result<u32, CronError> {
    if text.is_empty() {
        return Err(CronError::new(field, at, "a value is missing"));
    }
    match text.char_indices().find(|(_, c)| !c.is_ascii_digit()) {
        Some((bad, c @ ('?' | 'L' | 'l' | 'W' | 'w' | '#'))) => {
            Err(CronError::new(field, at + bad, format!("{c} belongs to the Quartz dialect")))
        }
        Some(_) => Err(CronError::new(field, at, format!("'{text}' is neither a number nor a known name"))),
        None => text.parse().map_err(|_| CronError::new(field, at, "the number is too large")),
    }
}
