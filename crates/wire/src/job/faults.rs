//! Gathers everything wrong with a body, so that a person mends it in one go. Reads values out of their text on the way.

use model::{Span, Timestamp};

use crate::Time;
use crate::errors::Code;
use crate::problem::Fault;

#[derive(Default)]
pub(super) struct Faults {
    pub(super) list: Vec<Fault>,
}

impl Faults {
    pub(super) fn add(&mut self, code: Code, path: &str, message: impl Into<String>) -> &mut Fault {
        self.list.push(Fault::new(code, path, message));
        self.list.last_mut().expect("just pushed")
    }

    pub(super) fn add_hint(&mut self, code: Code, path: &str, message: impl Into<String>, hint: impl Into<String>) {
        self.list.push(Fault::new(code, path, message).hint(hint));
    }

    /// A duration within bounds; none if absent or faulty.
    pub(super) fn span(&mut self, path: &str, text: Option<&str>, least: Span, most: Span) -> Option<Span> {
        let text = text?;
        match text.parse::<Span>() {
            Err(_) => {
                let message = format!("{:?} is not a duration", clip(text));
                self.add_hint(Code::BadLength, path, message, "write a number with a unit: 250ms, 90s, 20m, 1h30m, 2d");
                None
            }
            Ok(span) if span < least || span > most => {
                let message = format!("{span} is outside {least} to {most}");
                self.add_hint(Code::BadLength, path, message, format!("choose something from {least} to {most}"));
                None
            }
            Ok(span) => Some(span),
        }
    }

    pub(super) fn instant(&mut self, path: &str, text: Option<&str>) -> Option<Timestamp> {
        let text = text?;
        match text.parse::<Time>() {
            Ok(at) => Some(at.into()),
            Err(_) => {
                let message = format!("{:?} is not an instant", clip(text));
                self.add_hint(Code::BadTime, path, message, "write it with an offset: 2026-11-15T10:20:30Z");
                None
            }
        }
    }

    /// A number within bounds; the nearest bound if it is not, so that checking can go on.
    pub(super) fn number<N: PartialOrd + std::fmt::Display + Copy>(
        &mut self,
        path: &str,
        n: N,
        least: N,
        most: N,
    ) -> N {
        if n < least || n > most {
            let message = format!("{n} is outside {least} to {most}");
            self.add_hint(Code::BadPolicy, path, message, format!("choose something from {least} to {most}"));
            return least;
        }
        n
    }

    pub(super) fn size(&mut self, path: &str, bytes: usize, most: usize) {
        if bytes > most {
            self.add(Code::OverSize, path, format!("{bytes} bytes are more than the {most} allowed"));
        }
    }

    pub(super) fn count(&mut self, path: &str, entries: usize, most: usize) {
        if entries > most {
            self.add(Code::OverSize, path, format!("{entries} entries are more than the {most} allowed"));
        }
    }
}

/// Enough of a stranger's text to recognise it in a message.
pub(super) fn clip(text: &str) -> String {
    let mut short: String = text.chars().take(64).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}
