//! One element of a comma list in the Quartz dialect. Stops where Quartz stops: what follows a complete value is not read.

use super::civil::{FIRST_YEAR, LAST_YEAR};
use super::quartz::{ALL_SPEC, Draft, NO_SPEC, Text};
use super::{CronError, Field};

const MONTHS: [&str; 12] = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const WEEKDAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

pub(super) struct Item<'a> {
    field: Field,
    text: &'a Text,
}

/// A span of values: one value when there is neither an end nor a step.
struct Span {
    from: i32,
    to: Option<i32>,
    step: i32,
}

impl<'a> Item<'a> {
    pub(super) fn new(field: Field, text: &'a Text) -> Item<'a> {
        Item { field, text }
    }

    pub(super) fn read(&self, draft: &mut Draft) -> Result<(), CronError> {
        match self.text[0].1 {
            'L' if self.is_last() => self.last(draft),
            'A'..='Z' => self.name(draft),
            '?' => self.open(draft),
            '*' => self.star(draft),
            '/' => self.star_step(draft, 1),
            '0'..='9' => self.value(draft),
            '@' => Err(self.refuse(0, "nicknames belong to the crontab dialect")),
            other => Err(self.refuse(0, format!("unexpected character '{}'", other.to_lowercase()))),
        }
    }

    /// Exactly `L`, `LW`, `L-` or `L-` with digits and an optional `W`; any other word starting in L is read as a name.
    fn is_last(&self) -> bool {
        let rest = &self.text[1..];
        match rest.first().map(|(_, c)| *c) {
            None => true,
            Some('W') => rest.len() == 1,
            Some('-') => {
                let digits = rest[1..].iter().take_while(|(_, c)| c.is_ascii_digit()).count();
                matches!(&rest[1 + digits..], [] | [(_, 'W')])
            }
            Some(_) => false,
        }
    }

    fn last(&self, draft: &mut Draft) -> Result<(), CronError> {
        match self.field {
            Field::DayOfWeek => draft.add(self.field, 7),
            Field::DayOfMonth => {
                let mut before = 0;
                if self.peek(1) == Some('-') {
                    before = match self.peek(2) {
                        Some('W') => 0,
                        _ => self.number(2)?.0,
                    };
                    if before > 30 {
                        return Err(self.refuse(2, format!("{before} is above 30 days before the last")));
                    }
                }
                draft.last_of_month = Some(before as u8);
                draft.nearest_workday |= self.text[self.text.len() - 1].1 == 'W';
            }
            _ => {}
        }
        Ok(())
    }

    fn name(&self, draft: &mut Draft) -> Result<(), CronError> {
        let from = self.name_at(0)?;
        let mut span = Span { from, to: None, step: 0 };
        match self.peek(3) {
            Some('-') => (span.to, span.step) = (Some(self.name_at(4)?), 1),
            Some('#') if self.field == Field::DayOfWeek => draft.nth_weekday = Some(self.nth(4)?),
            Some('L') if self.field == Field::DayOfWeek => draft.last_weekday = true,
            _ => {}
        }
        self.add(draft, span)
    }

    fn name_at(&self, at: usize) -> Result<i32, CronError> {
        let word: String = self.text.iter().skip(at).take(3).map(|(_, c)| *c).collect();
        let known = match self.field {
            Field::Month => MONTHS.iter().position(|name| *name == word),
            Field::DayOfWeek => WEEKDAYS.iter().position(|name| *name == word),
            _ => return Err(self.refuse(at, format!("a number is needed, not '{}'", word.to_lowercase()))),
        };
        let kind = if self.field == Field::Month { "month" } else { "weekday" };
        known
            .map(|n| n as i32 + 1)
            .ok_or_else(|| self.refuse(at, format!("no {kind} is called '{}'", word.to_lowercase())))
    }

    fn nth(&self, at: usize) -> Result<u8, CronError> {
        match self.signed(at) {
            Some(nth @ 1..=5) => Ok(nth as u8),
            _ => Err(self.refuse(at, "a number from 1 to 5 must follow #")),
        }
    }

    fn open(&self, draft: &mut Draft) -> Result<(), CronError> {
        if self.text.len() > 2 {
            return Err(self.refuse(1, "nothing can follow ?"));
        }
        match self.field {
            Field::DayOfMonth => {}
            Field::DayOfWeek if draft.days_of_month_open() => {
                return Err(self.refuse(0, "only one of the two day fields can be ?"));
            }
            Field::DayOfWeek => {}
            _ => return Err(self.refuse(0, "? is only possible for day-of-month and day-of-week")),
        }
        draft.add(self.field, NO_SPEC);
        Ok(())
    }

    fn star(&self, draft: &mut Draft) -> Result<(), CronError> {
        match self.peek(1) {
            Some('/') => self.star_step(draft, 2),
            None => self.add(draft, Span { from: ALL_SPEC, to: None, step: 0 }),
            Some(_) => self.add(draft, Span { from: ALL_SPEC, to: None, step: 1 }),
        }
    }

    fn star_step(&self, draft: &mut Draft, at: usize) -> Result<(), CronError> {
        let step = self.signed(at).ok_or_else(|| self.refuse(at, "a whole number must follow /"))?;
        self.check_step(step, at)?;
        self.add(draft, Span { from: ALL_SPEC, to: None, step })
    }

    fn value(&self, draft: &mut Draft) -> Result<(), CronError> {
        let (from, next) = self.number(0)?;
        let mut span = Span { from, to: None, step: 0 };
        match (self.peek(next), self.field) {
            (Some('L'), Field::DayOfWeek) => {
                if !(1..=7).contains(&from) {
                    return Err(self.refuse(0, format!("{from} is no weekday (1=SUN … 7=SAT)")));
                }
                draft.last_weekday = true;
                draft.add(self.field, from);
                return Ok(());
            }
            (Some('W'), Field::DayOfMonth) => {
                if from == 0 || from > 31 {
                    return Err(self.refuse(0, format!("{from}W is no day of a month")));
                }
                draft.nearest_workday = true;
            }
            (Some('#'), Field::DayOfWeek) => {
                draft.nth_weekday = Some(self.nth(next + 1)?);
                draft.add(self.field, from.min(ALL_SPEC));
                return Ok(());
            }
            (Some(sign @ ('L' | 'W' | '#')), _) => {
                return Err(self.refuse(next, format!("{sign} is not possible here")));
            }
            (Some('-'), _) => (span.to, span.step) = self.range(next + 1)?,
            (Some('/'), _) => span.step = self.step(next + 1)?,
            _ => {}
        }
        self.add(draft, span)
    }

    /// The end of a range and its step; here Quartz does not mind a step larger than the field.
    fn range(&self, at: usize) -> Result<(Option<i32>, i32), CronError> {
        let (to, next) = self.number(at)?;
        let step = if self.peek(next) == Some('/') { self.number(next + 1)?.0 } else { 1 };
        Ok((Some(to), step))
    }

    fn step(&self, at: usize) -> Result<i32, CronError> {
        let (step, next) = self.number(at)?;
        if next == at + 1 && next < self.text.len() {
            return Err(self.refuse(next, "unexpected text after the step"));
        }
        self.check_step(step, at)?;
        Ok(step)
    }

    fn check_step(&self, step: i32, at: usize) -> Result<(), CronError> {
        let max = match self.field {
            Field::Second | Field::Minute => 59,
            Field::Hour => 23,
            Field::DayOfMonth => 31,
            Field::Month => 12,
            Field::DayOfWeek => 7,
            Field::Year | Field::Expression => return Ok(()),
        };
        if step > max {
            return Err(self.refuse(at, format!("step {step} is above {max}")));
        }
        Ok(())
    }

    fn check_range(&self, span: &Span) -> Result<(), CronError> {
        let Some((min, max, note)) = self.limits() else { return Ok(()) };
        let open = span.from == NO_SPEC && matches!(self.field, Field::DayOfMonth | Field::DayOfWeek);
        if span.from != ALL_SPEC && !open {
            if span.from < min {
                return Err(self.refuse(0, format!("{} is below {min}{note}", span.from)));
            }
            if span.from > max {
                return Err(self.refuse(0, format!("{} is above {max}{note}", span.from)));
            }
        }
        match span.to {
            Some(to) if to > max => {
                let dash = self.text.iter().position(|(_, c)| *c == '-').unwrap_or(0);
                Err(self.refuse(dash + 1, format!("{to} is above {max}{note}")))
            }
            _ => Ok(()),
        }
    }

    fn limits(&self) -> Option<(i32, i32, &'static str)> {
        match self.field {
            Field::Second | Field::Minute => Some((0, 59, "")),
            Field::Hour => Some((0, 23, "")),
            Field::DayOfMonth => Some((1, 31, "")),
            Field::Month => Some((1, 12, "")),
            Field::DayOfWeek => Some((1, 7, " (1=SUN … 7=SAT)")),
            Field::Year | Field::Expression => None,
        }
    }

    /// Adds a span the way Quartz does: a range that ends before it starts goes round, except in the year field.
    fn add(&self, draft: &mut Draft, span: Span) -> Result<(), CronError> {
        self.check_range(&span)?;
        if span.step <= 0 && span.from != ALL_SPEC {
            draft.add(self.field, span.from);
            return Ok(());
        }
        let (min, max, _) = self.limits().unwrap_or((FIRST_YEAR, LAST_YEAR, ""));
        if span.from == ALL_SPEC && span.step <= 0 {
            draft.add(self.field, ALL_SPEC);
        }
        let from = if span.from == ALL_SPEC { min } else { span.from };
        let mut to = span.to.unwrap_or(max);
        let round = max - min + 1;
        let wraps = to < from;
        if wraps {
            if self.field == Field::Year {
                return Err(self.refuse(0, format!("{from} is after {to}")));
            }
            to += round;
        }
        for value in (from..=to).step_by(span.step.max(1) as usize) {
            let value = if wraps { (value - min).rem_euclid(round) + min } else { value };
            if self.field == Field::Year && value > LAST_YEAR {
                break;
            }
            draft.add(self.field, value);
        }
        Ok(())
    }

    fn peek(&self, at: usize) -> Option<char> {
        self.text.get(at).map(|(_, c)| *c)
    }

    /// The digits from `at`, of which there must be one, and where they end.
    fn number(&self, at: usize) -> Result<(i32, usize), CronError> {
        let digits: String = self.text.iter().skip(at).map(|(_, c)| *c).take_while(char::is_ascii_digit).collect();
        if digits.is_empty() {
            return Err(self.refuse(at, "a number is needed"));
        }
        let value = digits.parse().map_err(|_| self.refuse(at, "the number is too large"))?;
        Ok((value, at + digits.len()))
    }

    /// The rest of the item as one number, sign allowed.
    fn signed(&self, at: usize) -> Option<i32> {
        self.text.iter().skip(at).map(|(_, c)| *c).collect::<String>().parse().ok()
    }

    fn refuse(&self, at: usize, message: impl Into<String>) -> CronError {
        let (first, _) = self.text[0];
        let position = self.text.get(at).map_or(first + self.text.len(), |(byte, _)| *byte);
        CronError::new(self.field, position, message)
    }
}
