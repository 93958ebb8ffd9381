//! A trigger compiled: which instants it names. Never says what becomes of them.

use model::Rule;

/// A rule with its trigger compiled; shared by all jobs that say the same.
#[derive(Debug)]
pub struct Compiled {
    pub rule: Rule,
}

/// Placeholder until the trigger is compiled here.
#[derive(Debug)]
pub struct Plan;
