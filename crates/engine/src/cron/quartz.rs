//! Reads the Quartz dialect as Quartz 2.3.2 reads it, with everything it lets pass in silence: text after a complete
//! value, an eighth field, a step after a name, `W` and `#` inside lists. Refuses what Quartz refuses, what makes it
//! throw later, and the few texts on which it loops for ever or leaves the field's range.

use super::days::Days;
use super::pattern::{Pattern, Years};
use super::quartz_item::Item;
use super::{CronError, Field};

/// Quartz keeps `?` and `*` as these numbers inside its value sets, so writing the number means the sign.
pub(super) const NO_SPEC: i32 = 98;
pub(super) const ALL_SPEC: i32 = 99;

const FIELDS: [Field; 7] =
    [Field::Second, Field::Minute, Field::Hour, Field::DayOfMonth, Field::Month, Field::DayOfWeek, Field::Year];

/// Upper-case characters, each with the byte it came from.
pub(super) type Text = [(usize, char)];

pub(super) fn parse(expression: &str) -> Result<Pattern, CronError> {
    let text: Vec<(usize, char)> =
        expression.char_indices().flat_map(|(at, c)| c.to_uppercase().map(move |upper| (at, upper))).collect();
    let mut tokens = text.split(|(_, c)| matches!(c, ' ' | '\t')).filter(|token| !token.is_empty());
    let mut draft = Draft::default();
    for field in FIELDS {
        match tokens.next() {
            Some(token) => draft.read_field(field, token)?,
            None if field == Field::Year => draft.every_year = true,
            None => return Err(CronError::new(field, expression.len(), "missing; 6 or 7 fields are needed")),
        }
    }
    draft.finish()
}

/// What has been read so far, in the shape Quartz keeps it.
#[derive(Default)]
pub(super) struct Draft {
    /// One set per field before the year; bits 98 and 99 are the two signs.
    sets: [u128; 6],
    starts: [usize; 7],
    years: Years,
    every_year: bool,
    pub(super) last_of_month: Option<u8>,
    pub(super) nearest_workday: bool,
    pub(super) last_weekday: bool,
    pub(super) nth_weekday: Option<u8>,
}

impl Draft {
    fn read_field(&mut self, field: Field, token: &Text) -> Result<(), CronError> {
        let start = token[0].0;
        self.starts[index(field)] = start;
        let token = trim(token);
        let count = |wanted: char| token.iter().filter(|(_, c)| *c == wanted).count();
        if matches!(field, Field::DayOfMonth | Field::DayOfWeek) && count('L') > 0 && count(',') > 0 {
            return Err(CronError::new(field, start, "L cannot be combined with other days"));
        }
        if field == Field::DayOfWeek && count('#') > 1 {
            return Err(CronError::new(field, start, "only one # is possible"));
        }
        let items = token.split(|(_, c)| *c == ',').filter(|item| !item.is_empty());
        items.map(|item| Item::new(field, item)).try_for_each(|item| item.read(self))
    }

    pub(super) fn add(&mut self, field: Field, value: i32) {
        if field == Field::Year {
            if let Ok(bit @ 0..330) = usize::try_from(value - super::civil::FIRST_YEAR) {
                self.years[bit / 64] |= 1 << (bit % 64);
            }
        } else {
            self.sets[index(field)] |= 1 << value;
        }
    }

    pub(super) fn days_of_month_open(&self) -> bool {
        self.last_of_month.is_none() && self.highest(Field::DayOfMonth).is_none_or(|top| top == NO_SPEC as u32)
    }

    fn set(&self, field: Field) -> u128 {
        self.sets[index(field)]
    }

    fn highest(&self, field: Field) -> Option<u32> {
        self.set(field).checked_ilog2()
    }

    fn finish(self) -> Result<Pattern, CronError> {
        let months = self.values(Field::Month)? as u16;
        Ok(Pattern {
            seconds: self.values(Field::Second)?,
            minutes: self.values(Field::Minute)?,
            hours: self.values(Field::Hour)? as u32,
            days: self.days(months)?,
            months,
            years: (!self.every_year && !self.years_are_all()).then(|| Box::new(self.years)),
        })
    }

    fn years_are_all(&self) -> bool {
        self.years[..5].iter().all(|part| *part == u64::MAX) && self.years[5] == (1 << 10) - 1
    }

    /// The values of a field that must have one; without any, Quartz throws when asked for a time.
    fn values(&self, field: Field) -> Result<u64, CronError> {
        match self.set(field) & !(1 << NO_SPEC | 1 << ALL_SPEC) {
            0 => Err(self.refuse(field, "no value is given")),
            values => Ok(values as u64),
        }
    }

    fn days(&self, months: u16) -> Result<Days, CronError> {
        let month_days_given = self.set(Field::DayOfMonth) >> NO_SPEC & 1 == 0;
        let weekdays_given = self.set(Field::DayOfWeek) >> NO_SPEC & 1 == 0;
        match (month_days_given, weekdays_given) {
            (true, false) => self.month_days(months),
            (false, true) => self.weekdays(),
            (true, true) => Err(self.refuse(Field::DayOfWeek, "one of the two day fields must be ?")),
            (false, false) => Err(self.refuse(Field::DayOfWeek, "only one of the two day fields can be ?")),
        }
    }

    fn month_days(&self, months: u16) -> Result<Days, CronError> {
        match (self.last_of_month, self.nearest_workday) {
            (Some(before), false) => return Ok(Days::Last { before }),
            (Some(before), true) => return Ok(Days::LastWorkday { before }),
            (None, _) => {}
        }
        let days = self.values(Field::DayOfMonth)? as u32;
        if self.nearest_workday {
            // Having served January, Quartz looks at the same day of February, and skips to March where there is none.
            return Ok(Days::NearestWorkday { day: days.trailing_zeros() as u8, february: months & 2 == 0 });
        }
        Ok(if days == 0xffff_fffe { Days::Any } else { Days::OfMonth(days) })
    }

    fn weekdays(&self) -> Result<Days, CronError> {
        if let Some(nth) = self.nth_weekday {
            // Quartz does not check the number before a #: 0 behaves as Saturday, 8 and above never come.
            return Ok(match self.set(Field::DayOfWeek).trailing_zeros() {
                0 => Days::NthWeekday { weekday: 6, nth },
                first @ 1..=7 => Days::NthWeekday { weekday: first as u8 - 1, nth },
                _ => Days::Never,
            });
        }
        let days = self.values(Field::DayOfWeek)?;
        if self.last_weekday {
            return Ok(Days::LastWeekday(days.trailing_zeros() as u8 - 1));
        }
        Ok(if days == 0xfe { Days::Any } else { Days::OfWeek((days >> 1) as u8) })
    }

    fn refuse(&self, field: Field, message: &str) -> CronError {
        CronError::new(field, self.starts[index(field)], message)
    }
}

fn index(field: Field) -> usize {
    FIELDS.iter().position(|known| *known == field).expect("only the fields of the dialect are read")
}

/// What Java calls trimming: everything up to the blank goes, control characters too.
fn trim(token: &Text) -> &Text {
    let kept = |(_, c): &(usize, char)| *c > ' ';
    match (token.iter().position(kept), token.iter().rposition(kept)) {
        (Some(first), Some(last)) => &token[first..=last],
        _ => &[],
    }
}
