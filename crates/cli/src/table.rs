//! Tables for people: no borders, two spaces between columns, nothing cut off.

use comfy_table::presets::NOTHING;
use comfy_table::{Cell, Color, Table};
use wire::api::StateWord;

use crate::out::{Out, Tone};

pub(crate) struct Rows {
    table: Table,
    empty: bool,
}

impl Rows {
    pub(crate) fn new(out: &Out, header: &[&str]) -> Rows {
        let mut table = Table::new();
        table.load_style(NOTHING);
        if out.colour {
            table.enforce_styling();
        } else {
            table.force_no_tty();
        }
        table.set_header(header.to_vec());
        for column in table.column_iter_mut() {
            column.set_padding((0, 2));
        }
        Rows { table, empty: true }
    }

    pub(crate) fn add(&mut self, cells: Vec<Cell>) {
        self.table.add_row(cells);
        self.empty = false;
    }

    /// The table, or words that say it is empty.
    pub(crate) fn show(&self, if_empty: &str) -> String {
        if self.empty { format!("{if_empty}\n") } else { format!("{}\n", self.table.trim_fmt()) }
    }
}

/// Two columns, a key and what it is, for one thing shown at length. What has no value is left out.
pub(crate) fn facts(facts: &[(&str, String)]) -> String {
    let known: Vec<&(&str, String)> = facts.iter().filter(|(_, value)| !value.is_empty()).collect();
    let width = known.iter().map(|(key, _)| key.len()).max().unwrap_or(0) + 2;
    let line = |(key, value): &&(&str, String)| {
        // Further lines of a value stand below its first.
        let lines: Vec<String> = value.trim_end().lines().map(clean).collect();
        format!("{key:<width$}{}\n", lines.join(&format!("\n{}", " ".repeat(width))))
    };
    known.iter().map(line).collect()
}

pub(crate) fn plain(text: impl ToString) -> Cell {
    Cell::new(clean(&text.to_string()))
}

pub(crate) fn toned(tone: Tone, text: impl ToString) -> Cell {
    let cell = plain(text);
    match tone {
        Tone::Good => cell.fg(Color::Green),
        Tone::Bad => cell.fg(Color::Red),
        Tone::Warn => cell.fg(Color::Yellow),
        Tone::Busy => cell.fg(Color::Cyan),
        Tone::Faint => cell.fg(Color::DarkGrey),
        Tone::Plain => cell,
    }
}

pub(crate) fn state_cell(state: StateWord) -> Cell {
    toned(state_tone(state), state)
}

pub(crate) fn state_tone(state: StateWord) -> Tone {
    match state {
        StateWord::Succeeded => Tone::Good,
        StateWord::Failed | StateWord::Dead => Tone::Bad,
        StateWord::Warned | StateWord::Stopped | StateWord::Forced | StateWord::RetryWait => Tone::Warn,
        StateWord::Dispatched | StateWord::Running => Tone::Busy,
        StateWord::Skipped => Tone::Faint,
        StateWord::Scheduled | StateWord::Ready => Tone::Plain,
    }
}

/// One line, and nothing in it that moves the cursor: what people wrote elsewhere must not play with this terminal.
fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn columns_line_up_in_any_script() {
        let out = Out::plain("2026-11-15T10:00:00Z");
        let mut rows = Rows::new(&out, &["NAME", "STATE", "WHY"]);
        rows.add(vec![plain("夜间清理"), state_cell(StateWord::Running), plain("-")]);
        rows.add(vec![plain("tick"), state_cell(StateWord::Failed), plain("exit\x1b[2J\n1")]);
        expect![[r#"
            NAME      STATE    WHY
            夜间清理  running  -
            tick      failed   exit [2J 1
        "#]]
        .assert_eq(&rows.show("none"));
        assert_eq!(Rows::new(&out, &["NAME"]).show("no jobs"), "no jobs\n");
    }

    #[test]
    fn facts_without_a_value_are_left_out() {
        let shown = facts(&[("id", "7".into()), ("owner", String::new()), ("body", "a: 1\nb: 2\n".into())]);
        expect![[r#"
            id    7
            body  a: 1
                  b: 2
        "#]]
        .assert_eq(&shown);
    }
}
