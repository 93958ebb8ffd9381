//! Where words go: answers to standard output, everything else to standard error, colour only where eyes are.

use std::io::{IsTerminal, Write};

use wire::{Code, Time};

use crate::failure::Failure;

pub(crate) struct Out {
    pub(crate) json: bool,
    pub(crate) colour: bool,
    colour_err: bool,
    /// There is a person to ask.
    attended: bool,
    /// Relative times are told from here.
    pub(crate) now: Time,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Good,
    Bad,
    Warn,
    Busy,
    Faint,
    Plain,
}

impl Out {
    pub(crate) fn detect(json: bool) -> Out {
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
            && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        Out {
            json,
            colour: wanted && !json && std::io::stdout().is_terminal(),
            colour_err: wanted && std::io::stderr().is_terminal(),
            attended: std::io::stdin().is_terminal() && std::io::stderr().is_terminal(),
            now: Time(jiff::Timestamp::now().as_microsecond()),
        }
    }

    #[cfg(test)]
    pub(crate) fn plain(now: &str) -> Out {
        Out { json: false, colour: false, colour_err: false, attended: false, now: now.parse().unwrap() }
    }

    /// An answer: the body as it came for programs, or words for people.
    pub(crate) fn answer(&self, raw: &str, words: impl FnOnce() -> String) {
        if self.json {
            emit(raw.trim_end().as_bytes());
            emit(b"\n");
        } else {
            emit(words().as_bytes());
        }
    }

    /// Something said beside the answer; programs are not bothered with it.
    pub(crate) fn note(&self, words: &str) {
        if !self.json {
            complain(&format!("{words}\n"));
        }
    }

    /// Something done that has no body of its own to show.
    pub(crate) fn done(&self, words: &str) {
        self.answer(r#"{"done":true}"#, || format!("{words}\n"));
    }

    /// Asks a person. Where there is none, the command refuses rather than guess.
    pub(crate) fn consent(&self, question: &str, yes: bool) -> Result<bool, Failure> {
        if yes {
            return Ok(true);
        }
        if !self.attended {
            return Err(Failure::usage(Code::WantsYes, "there is no terminal to ask at, and --yes was not given"));
        }
        complain(&format!("{question} [y/N] "));
        let mut line = String::new();
        let read = std::io::stdin().read_line(&mut line);
        read.map_err(|error| Failure::usage(Code::WantsYes, format!("the answer cannot be read: {error}")))?;
        let agreed = matches!(line.trim(), "y" | "Y" | "yes");
        if !agreed {
            self.note("Nothing was changed.");
        }
        Ok(agreed)
    }

    pub(crate) fn paint(&self, tone: Tone, text: &str) -> String {
        paint(self.colour, tone, text)
    }

    pub(crate) fn paint_err(&self, tone: Tone, text: &str) -> String {
        paint(self.colour_err, tone, text)
    }

    /// `3m ago`, `in 2h`; absolute in UTC beside it.
    pub(crate) fn time(&self, at: Option<Time>) -> String {
        at.map_or_else(|| "-".into(), |at| format!("{} ({})", self.relative(at), absolute(at)))
    }

    pub(crate) fn relative(&self, at: Time) -> String {
        let away = at.0.saturating_sub(self.now.0);
        let length = coarse(away.unsigned_abs());
        match away {
            _ if away.unsigned_abs() < 1_000_000 => "now".into(),
            0.. => format!("in {length}"),
            _ => format!("{length} ago"),
        }
    }
}

/// `2026-11-15 10:20:30Z`, with a fraction only if there is one.
pub(crate) fn absolute(at: Time) -> String {
    let text = at.to_string().replace('T', " ");
    match text.strip_suffix(".000000Z") {
        Some(whole) => format!("{whole}Z"),
        None => text,
    }
}

/// A length of time as people say it: the two largest units, or milliseconds.
fn coarse(micros: u64) -> String {
    let seconds = micros / 1_000_000;
    match seconds {
        0 => format!("{}ms", micros / 1000),
        1..60 => format!("{seconds}s"),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{}h{:02}m", seconds / 3600, seconds / 60 % 60),
        _ => format!("{}d{:02}h", seconds / 86_400, seconds / 3600 % 24),
    }
}

/// A length that was measured: finer while it is short.
pub(crate) fn length(micros: u64) -> String {
    match micros {
        0..10_000 => format!("{:.1}ms", micros as f64 / 1e3),
        10_000..1_000_000 => format!("{}ms", micros / 1000),
        1_000_000..60_000_000 => format!("{:.1}s", micros as f64 / 1e6),
        _ => coarse(micros),
    }
}

fn paint(colour: bool, tone: Tone, text: &str) -> String {
    let code = match tone {
        Tone::Good => 32,
        Tone::Bad => 31,
        Tone::Warn => 33,
        Tone::Busy => 36,
        Tone::Faint => 2,
        Tone::Plain => return text.into(),
    };
    if colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.into() }
}

/// Writes to standard output. A reader that has gone away (`| head`) ends us quietly, as it does other tools.
pub(crate) fn emit(bytes: &[u8]) {
    let mut out = std::io::stdout().lock();
    if out.write_all(bytes).and_then(|()| out.flush()).is_err() {
        std::process::exit(0);
    }
}

pub(crate) fn complain(text: &str) {
    // Nobody is left to tell if standard error is gone.
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// Something that turns while we wait; not shown where nobody watches.
pub(crate) fn spinner(words: impl Into<String>) -> indicatif::ProgressBar {
    let bar = indicatif::ProgressBar::new_spinner().with_message(words.into());
    bar.enable_steady_tick(std::time::Duration::from_millis(120));
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_relative_and_absolute() {
        let out = Out::plain("2026-11-15T10:00:00Z");
        let told = |at: &str| out.time(Some(at.parse().unwrap()));
        assert_eq!(told("2026-11-15T10:00:00.4Z"), "now (2026-11-15 10:00:00.400000Z)");
        assert_eq!(told("2026-11-15T09:57:30Z"), "2m30s ago (2026-11-15 09:57:30Z)");
        assert_eq!(told("2026-11-17T12:00:00Z"), "in 2d02h (2026-11-17 12:00:00Z)");
        assert_eq!(out.time(None), "-");
    }
}
