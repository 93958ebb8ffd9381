//! The audit as lines of JSON: a first line that says from where to where it goes, then a line for each entry. Whoever has
//! the file can check it without a server. An entry that the reader may not see is there with its digest only.

use model::audit::{Link, Mark, Noted, Sum, Walk, Walked};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{canonical, signs_off};

const FORMAT: &str = "duly-audit-1";

#[derive(Debug, thiserror::Error)]
pub enum BadExport {
    #[error("line {line} is not one of an exported audit: {what}")]
    Line { line: u64, what: String },
    #[error("the file is empty")]
    Empty,
    #[error("it is written as {0:?}, and this version reads {FORMAT:?}")]
    Format(String),
}

/// The first line: what was dropped before it, and the newest entry when it was made.
pub fn export_head(base: Mark, head: Mark) -> String {
    let mark = |mark: Mark| json!({"seq": mark.seq, "hash": mark.hash.to_string()});
    canonical(&json!({"format": FORMAT, "base": mark(base), "head": mark(head)})) + "\n"
}

/// One entry, word for word as it is kept; without its words for whoever may not read them.
pub fn export_line(mark: Mark, text: &str, shown: bool) -> String {
    let Mark { seq, hash } = mark;
    match shown {
        true => format!("{{\"seq\":{seq},\"hash\":\"{hash}\",\"entry\":{text}}}\n"),
        false => format!("{{\"seq\":{seq},\"hash\":\"{hash}\",\"digest\":\"{}\"}}\n", Sum::of(text)),
    }
}

#[derive(Deserialize)]
struct HeadLine {
    format: String,
    base: MarkBody,
    head: MarkBody,
}

#[derive(Deserialize)]
struct MarkBody {
    seq: i64,
    hash: String,
}

#[derive(Deserialize)]
struct EntryLine {
    seq: i64,
    hash: String,
    entry: Option<Value>,
    digest: Option<String>,
}

/// Reads an export line by line, and knows at its end whether it is whole.
pub struct Export {
    noted: Option<Noted>,
    line: u64,
    begun: Option<(Walk, Mark)>,
}

impl Export {
    pub fn new(noted: Option<Noted>) -> Export {
        Export { noted, line: 0, begun: None }
    }

    pub fn line(&mut self, text: &str) -> Result<(), BadExport> {
        self.line += 1;
        let line = self.line;
        let bad = |what: String| BadExport::Line { line, what };
        let hash = |text: &str| text.parse::<Sum>().map_err(|error| bad(error.to_string()));
        let Some((walk, _)) = &mut self.begun else {
            let first: HeadLine = serde_json::from_str(text).map_err(|error| bad(error.to_string()))?;
            if first.format != FORMAT {
                return Err(BadExport::Format(first.format));
            }
            let base = Mark { seq: first.base.seq, hash: hash(&first.base.hash)? };
            let head = Mark { seq: first.head.seq, hash: hash(&first.head.hash)? };
            self.begun = Some((Walk::new(base, self.noted), head));
            return Ok(());
        };
        let read: EntryLine = serde_json::from_str(text).map_err(|error| bad(error.to_string()))?;
        let digest = match (&read.entry, &read.digest) {
            (Some(entry), None) => Sum::of(&canonical(entry)),
            (None, Some(digest)) => hash(digest)?,
            _ => return Err(bad("it has neither an entry nor a digest, or both".into())),
        };
        let signs_off = read.entry.as_ref().and_then(signs_off);
        walk.step(&Link { mark: Mark { seq: read.seq, hash: hash(&read.hash)? }, digest, signs_off });
        Ok(())
    }

    pub fn end(self) -> Result<Walked, BadExport> {
        let (walk, head) = self.begun.ok_or(BadExport::Empty)?;
        Ok(walk.end(head))
    }
}

#[cfg(test)]
mod tests {
    use model::audit::Finding;

    use super::super::AuditEntry;
    use super::*;
    use crate::time::Time;

    fn exported(hidden: Option<usize>) -> Vec<String> {
        let mut at = Mark::BEGINNING;
        let mut lines = Vec::new();
        for n in 0..4 {
            let text = AuditEntry::new(Time(n), "job_pause", "done").text();
            at = at.next(Sum::of(&text));
            lines.push(export_line(at, &text, hidden != Some(n as usize)));
        }
        lines.insert(0, export_head(Mark::BEGINNING, at));
        lines
    }

    fn read(lines: &[String], noted: Option<Noted>) -> Vec<Finding> {
        let mut export = Export::new(noted);
        lines.iter().for_each(|line| export.line(line.trim_end()).unwrap());
        export.end().unwrap().findings
    }

    #[test]
    fn an_export_is_checked_without_a_server() {
        assert_eq!(read(&exported(None), None), []);
        assert_eq!(read(&exported(Some(2)), None), [], "also where an entry is withheld");
        let mut changed = exported(None);
        changed[3] = changed[3].replace("job_pause", "job_apply");
        assert_eq!(read(&changed, None), [Finding::Changed { seq: 3 }]);
        let mut cut = exported(None);
        cut.pop();
        assert_eq!(read(&cut, None), [Finding::CutOff { last: 3, head: 4 }]);
        let mut moved = exported(None);
        moved.swap(2, 3);
        assert_eq!(read(&moved, None), [Finding::Moved { seq: 2, to: 3 }]);
        let noted = Noted { seq: Some(4), hash: Sum::of("x") };
        assert_eq!(read(&exported(None), Some(noted)), [Finding::Rewritten { seq: Some(4) }]);
    }

    #[test]
    fn spaces_and_order_of_keys_do_not_matter() {
        let mut lines = exported(None);
        let value: Value = serde_json::from_str(&lines[2]).unwrap();
        lines[2] = serde_json::to_string_pretty(&value).unwrap();
        assert_eq!(read(&lines, None), []);
    }

    #[test]
    fn what_is_no_export_is_refused() {
        assert!(matches!(Export::new(None).end(), Err(BadExport::Empty)));
        assert!(Export::new(None).line("{}").is_err());
        let mut export = Export::new(None);
        export.line(&exported(None)[0]).unwrap();
        let told = export.line("{\"seq\":1,\"hash\":\"00\",\"digest\":\"00\"}").unwrap_err().to_string();
        assert!(told.starts_with("line 2"), "{told}");
    }
}
