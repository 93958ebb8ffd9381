//! How the world tells its story: times on the clock of the first day, instances by their job and number.

use duly_engine::Change;
use duly_engine::change::{Fate, NoteKind};
use model::*;

use super::World;

/// 2026-01-05 00:00 UTC, a Monday: every script begins here.
pub const MIDNIGHT: Timestamp = Timestamp::from_secs(1_767_571_200);

pub fn clock(t: Timestamp) -> String {
    let since = (t - MIDNIGHT).0;
    let (day, rest) = (since.div_euclid(Span::DAY.0), since.rem_euclid(Span::DAY.0));
    let (secs, micros) = (rest / 1_000_000, rest % 1_000_000);
    let mut text = if day == 0 { String::new() } else { format!("{day}d ") };
    text += &format!("{:02}:{:02}:{:02}", secs / 3_600, secs / 60 % 60, secs % 60);
    match micros {
        0 => text,
        n if n % 1_000 == 0 => format!("{text}.{:03}", n / 1_000),
        n => format!("{text}.{n:06}"),
    }
}

/// `00:05`, `00:05:10`, `00:00:00.5`, with days as `+3d 00:05`.
pub fn time(text: &str) -> Timestamp {
    let (days, rest) = match text.split_once("d ") {
        Some((days, rest)) => (days.trim_start_matches('+').parse::<i64>().unwrap_or_else(|_| panic!("{text}")), rest),
        None => (0, text),
    };
    let mut parts = rest.split(':');
    let mut whole = || parts.next().map_or(0, |part| part.parse::<i64>().unwrap_or_else(|_| panic!("time {text}")));
    let (hours, minutes) = (whole(), whole());
    let secs: f64 = parts.next().map_or(0.0, |part| part.parse().unwrap_or_else(|_| panic!("time {text}")));
    let micros = (days * 86_400 + hours * 3_600 + minutes * 60) * 1_000_000 + (secs * 1e6).round() as i64;
    MIDNIGHT + Span(micros)
}

impl World {
    pub(super) fn say(&mut self, what: String) {
        if !self.hidden.iter().any(|word| what.contains(word.as_str())) {
            self.log.push(format!("{} {what}", clock(self.now)));
        }
    }

    /// Puts a change into words; progress and bookkeeping go without saying.
    pub(super) fn tell_of(&mut self, change: &Change) {
        let what = match change {
            Change::Created(created) => {
                let count = self.counts.entry(created.row.job).or_default();
                *count += 1;
                let name = &self.names[&created.row.job];
                let label = format!("{name}#{count}");
                self.labels.insert(created.row.id, label.clone());
                match &created.cause {
                    Cause::Planned => format!("{label} for {}", clock(created.row.planned)),
                    Cause::Misfire { missed } => {
                        format!("{label} for {} (missed {missed})", clock(created.row.planned))
                    }
                    Cause::Manual(_) => format!("{label} by hand"),
                    Cause::After(leader) => format!("{label} after {}", self.label(*leader)),
                    Cause::Shard(parent) => format!("{label} shard of {}", self.label(*parent)),
                }
            }
            Change::JobPut(job) => {
                self.names.insert(job.id, job.name.clone());
                return;
            }
            Change::Withdrawn { row } => format!("{} withdrawn", self.label(row.id)),
            Change::Retried(r) if r.retry_at <= self.now => {
                format!("{} {:?}, again at once", self.label(r.row.id), r.outcome.verdict)
            }
            Change::Retried(r) => {
                format!("{} {:?}, again at {}", self.label(r.row.id), r.outcome.verdict, clock(r.retry_at))
            }
            Change::Ended(e) => {
                let ending = match &e.ending {
                    Ending::Succeeded | Ending::Warned => e.ending.state().to_string(),
                    Ending::Failed(failure) => format!("failed ({failure:?})"),
                    Ending::Dead(failure) => format!("dead ({failure:?})"),
                    Ending::Skipped(reason) => format!("skipped ({reason:?})"),
                    Ending::Stopped(by) => format!("stopped by {}", self.plain(&by.0)),
                    Ending::Forced(by) => format!("forced by {}", by.0),
                };
                let why = e.why.as_ref().map_or(String::new(), |why| format!(": {}", self.plain(why)));
                format!("{} {ending}{why}", self.label(e.row.id))
            }
            Change::Reopened { row, .. } => format!("{} open again", self.label(row.id)),
            Change::Stopping { row, by, .. } => {
                format!("{} stopping for {}", self.label(row.id), self.plain(&by.0))
            }
            Change::Gap(gap) => {
                let fate = match gap.fate {
                    Fate::Missed => "missed".to_string(),
                    Fate::Merged(into) => format!("merged into {}", self.label(into)),
                    Fate::Skipped(reason) => format!("skipped ({reason:?})"),
                };
                let name = &self.names[&gap.job];
                format!("{name} {}..{} x{} {fate}", clock(gap.first), clock(gap.last), gap.count)
            }
            Change::Note(note) => match note.kind {
                NoteKind::NotStartedInTime => format!("{} not started in time", self.noted(note.instance)),
                NoteKind::NotFinishedInTime => format!("{} not finished in time", self.noted(note.instance)),
                NoteKind::ClockJumped { .. }
                | NoteKind::AgentOnline(_)
                | NoteKind::AgentSilent(_)
                | NoteKind::Mode(_) => return,
            },
            Change::Quarantined { .. } => "quarantined".into(),
            _ => return,
        };
        self.say(what);
    }

    fn noted(&self, instance: Option<InstanceId>) -> String {
        instance.map_or(String::new(), |id| self.label(id))
    }

    /// Words with instance numbers replaced by their labels, so that a story does not hang on numbers.
    pub fn plain(&self, text: &str) -> String {
        let mut words: Vec<String> = text.split(' ').map(str::to_string).collect();
        for at in 1..words.len() {
            let digits: String = words[at].chars().take_while(char::is_ascii_digit).collect();
            if words[at - 1] == "instance" && !digits.is_empty() {
                let rest = words[at][digits.len()..].to_string();
                words[at] = self.label(InstanceId(digits.parse().expect("digits"))) + &rest;
            }
        }
        words.join(" ")
    }
}
