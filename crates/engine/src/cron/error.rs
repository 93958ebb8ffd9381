//! What a refused expression is told: which field, where in the text, and why. Never carries a half-read pattern.

use std::fmt;

/// A field of an expression, as people call it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Field {
    /// The expression as a whole: its length, its number of fields, its nickname.
    Expression,
    Second,
    Minute,
    Hour,
    DayOfMonth,
    Month,
    DayOfWeek,
    Year,
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Field::Expression => "expression",
            Field::Second => "second field",
            Field::Minute => "minute field",
            Field::Hour => "hour field",
            Field::DayOfMonth => "day-of-month field",
            Field::Month => "month field",
            Field::DayOfWeek => "day-of-week field",
            Field::Year => "year field",
        })
    }
}

/// Why an expression was refused. `at` is a byte offset into the expression as it was given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}, position {at}: {message}")]
pub struct CronError {
    pub field: Field,
    pub at: usize,
    pub message: String,
}

impl CronError {
    pub(super) fn new(field: Field, at: usize, message: impl Into<String>) -> CronError {
        CronError { field, at, message: message.into() }
    }
}
