//! The audit as it is kept: entries that are only ever added, chained by `model::audit`, and what has been begun and not
//! yet recorded. One chain for the whole installation, however many servers write to it. What an entry says is the
//! server's; here it is a text with a label to find it by.

use model::audit::{Mark, Sum};
use model::{TenantId, Timestamp};

use crate::StoreError;

pub trait AuditLog: Send {
    /// Writes all of it or nothing. After an error the same entries may be sent again: they are written once.
    fn write(&mut self, writing: &Writing) -> Result<(), StoreError>;

    /// Where the chain begins and ends: the last entry that was dropped, and the newest.
    fn ends(&mut self) -> Result<(Mark, Mark), StoreError>;

    /// Entries after this one, oldest first.
    fn after(&mut self, seq: i64, limit: usize) -> Result<Vec<Recorded>, StoreError>;

    /// Newest first.
    fn list(&mut self, filter: &AuditFilter) -> Result<Vec<Recorded>, StoreError>;

    /// What was begun before this moment and has no entry yet, oldest first.
    fn begun(&mut self, before: Timestamp, limit: usize) -> Result<Vec<Begun>, StoreError>;

    /// The last entry of those that are older than this moment, if there are any and it is not the newest of all.
    fn older_than(&mut self, moment: Timestamp) -> Result<Option<Mark>, StoreError>;

    /// Deletes some of what was dropped. True while there is more.
    fn sweep(&mut self, rows_max: u32) -> Result<bool, StoreError>;
}

/// One write.
#[derive(Clone, Debug, Default)]
pub struct Writing {
    pub begun: Vec<Begun>,
    /// What they were about has an entry now, or did not begin after all.
    pub settled: Vec<String>,
    pub entries: Vec<Draft>,
    /// Everything up to there is dropped from now on; one of the entries says so.
    pub drop_until: Option<Mark>,
}

/// An entry that is to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    pub label: Label,
    /// What it is about, by name or number.
    pub about: Vec<String>,
    pub text: String,
}

/// What an entry is found by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    pub at: Timestamp,
    /// None: the installation's own.
    pub tenant: Option<TenantId>,
    pub actor: Option<String>,
    pub operation: String,
    pub outcome: String,
}

/// An entry as it stands there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    pub mark: Mark,
    pub label: Label,
    pub text: String,
}

/// Something that is about to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begun {
    pub id: String,
    pub at: Timestamp,
    pub text: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditFilter {
    pub tenant: Option<TenantId>,
    pub actor: Option<String>,
    pub operation: Option<String>,
    pub about: Option<String>,
    pub since: Option<Timestamp>,
    pub outcome: Option<OutcomeIs>,
    /// Older than this one.
    pub before: Option<i64>,
    /// This one only.
    pub seq: Option<i64>,
    pub limit: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutcomeIs {
    /// Any code at all.
    Refused,
    Word(String),
}

/// Done, and recorded.
pub const DONE: &str = "done";
/// Begun, and nobody can say what became of it.
pub const UNKNOWN: &str = "unknown";

/// A value of a condition.
pub(crate) enum Bound {
    Number(i64),
    Text(String),
}

impl AuditFilter {
    /// The conditions of a list with their values; `sign` begins a place for a value.
    pub(crate) fn conditions(&self, sign: char) -> (String, Vec<Bound>) {
        let mut conditions = vec!["true".to_string()];
        let mut bound = Vec::new();
        let mut put = |text: &str, value: Bound| {
            bound.push(value);
            conditions.push(text.replace('?', &format!("{sign}{}", bound.len())));
        };
        let numbers = [
            ("a.seq = ?", self.seq),
            ("a.seq < ?", self.before),
            ("a.tenant = ?", self.tenant.map(|tenant| tenant.0)),
            // Entries are about in the order of their times: the list need not look behind the first that is old enough.
            ("a.seq >= (select coalesce(min(seq), 0) from audit where at >= ?)", self.since.map(|since| since.0)),
            ("a.at >= ?", self.since.map(|since| since.0)),
        ];
        for (text, value) in numbers {
            if let Some(value) = value {
                put(text, Bound::Number(value));
            }
        }
        let texts = [
            ("a.actor = ?", &self.actor),
            ("a.operation = ?", &self.operation),
            ("a.seq in (select seq from audit_about where value = ?)", &self.about),
        ];
        for (text, value) in texts {
            if let Some(value) = value {
                put(text, Bound::Text(value.clone()));
            }
        }
        match &self.outcome {
            Some(OutcomeIs::Word(word)) => put("a.outcome = ?", Bound::Text(word.clone())),
            Some(OutcomeIs::Refused) => conditions.push(format!("a.outcome <> '{DONE}' and a.outcome <> '{UNKNOWN}'")),
            None => {}
        }
        (conditions.join(" and "), bound)
    }
}

/// The links that follow `head`, one for each entry.
pub(crate) fn links(head: Mark, entries: &[Draft]) -> Vec<Mark> {
    let mut at = head;
    let next = |entry: &Draft| {
        at = at.next(Sum::of(&entry.text));
        at
    };
    entries.iter().map(next).collect()
}

/// What an entry is about, once each.
pub(crate) fn subjects(entry: &Draft) -> Vec<&str> {
    let mut about: Vec<&str> = entry.about.iter().map(String::as_str).collect();
    about.sort_unstable();
    about.dedup();
    about
}

pub(crate) fn sum(bytes: &[u8]) -> Result<Sum, StoreError> {
    let short = |_| StoreError::Corrupt("a hash of the audit has the wrong length".into());
    bytes.try_into().map(Sum).map_err(short)
}
