//! Finds the place in a text that a fault's path names, and draws the lines around it. Used only once there is a fault.

use std::cell::OnceCell;
use std::fmt;

use serde::Deserialize;
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Location, Spanned};

use super::text::options;
use crate::errors::Code;
use crate::problem::Fault;

pub(super) struct Lines<'a> {
    text: &'a str,
    documents: OnceCell<Vec<Option<Spanned<Node>>>>,
}

/// A document with the places of its values and nothing else.
enum Node {
    Leaf,
    List(Vec<Spanned<Node>>),
    Map(Vec<(String, Spanned<Node>)>),
}

impl<'a> Lines<'a> {
    pub(super) fn of(text: &'a str) -> Lines<'a> {
        Lines { text, documents: OnceCell::new() }
    }

    /// Adds line and snippet to a fault of document `n` whose path is relative to it.
    pub(super) fn place(&self, n: usize, mut fault: Fault) -> Fault {
        if let Some(place) = self.find(n, &fault.path) {
            self.mark(&mut fault, place.line() as u32, place.column() as u32);
        }
        fault
    }

    pub(super) fn place_error(&self, n: usize, error: &serde_saphyr::Error) -> Fault {
        let plain = error.without_snippet();
        let place = error.location();
        // The parser ends its message with the place, which we show in our own way.
        let said = plain.to_string();
        let (message, hint) = explain(said.split(" at line ").next().unwrap_or(&said).trim());
        let shape = matches!(self.documents().get(n), Some(Some(_)));
        let code = if shape { Code::BadShape } else { Code::BadText };
        let path = if shape { format!("jobs[{n}]") } else { String::new() };
        let mut fault = Fault { hint, ..Fault::new(code, path, message) };
        if let Some(place) = place {
            self.mark(&mut fault, place.line() as u32, place.column() as u32);
        }
        fault
    }

    pub(super) fn mark(&self, fault: &mut Fault, line: u32, column: u32) {
        if line == 0 {
            return;
        }
        fault.line = Some(line);
        fault.column = Some(column.max(1));
        fault.snippet = Some(self.snippet(line as usize, column.max(1) as usize));
    }

    fn snippet(&self, line: usize, column: usize) -> String {
        let from = line.saturating_sub(2);
        let shown: Vec<(usize, &str)> =
            self.text.lines().enumerate().skip(from).take(line - from).map(|(i, text)| (i + 1, text)).collect();
        let width = line.to_string().len();
        let mut out = String::new();
        for (number, text) in shown {
            let text: String = text.chars().take(100).collect();
            out.push_str(&format!("{number:>width$} | {text}\n"));
        }
        let before = column.saturating_sub(1).min(100);
        out.push_str(&format!("{:>width$} | {}^", "", " ".repeat(before)));
        out
    }

    fn documents(&self) -> &[Option<Spanned<Node>>] {
        self.documents.get_or_init(|| {
            let mut reader = self.text.as_bytes();
            serde_saphyr::read_with_options::<_, Spanned<Node>>(&mut reader, options()).map(Result::ok).collect()
        })
    }

    /// The place of the value the path names, or of the nearest value around it.
    fn find(&self, n: usize, path: &str) -> Option<Location> {
        let mut node = self.documents().get(n)?.as_ref()?;
        for step in path.split(['.', '[']).map(|step| step.trim_end_matches(']')).filter(|step| !step.is_empty()) {
            let inner = match &node.value {
                Node::Leaf => None,
                Node::List(items) => step.parse::<usize>().ok().and_then(|i| items.get(i)),
                Node::Map(entries) => entries.iter().find(|(key, _)| key == step).map(|(_, value)| value),
            };
            match inner {
                Some(inner) => node = inner,
                None => break,
            }
        }
        Some(node.referenced)
    }
}

/// Says in fewer words what a reader stumbled over, with what would have been right.
fn explain(said: &str) -> (String, Option<String>) {
    if let Some((found, known)) = said.strip_prefix("unknown field `").and_then(|rest| rest.split_once("`, expected "))
    {
        return (format!("there is no key `{found}` here"), Some(nearest(found, known)));
    }
    if let Some(key) = said.strip_prefix("missing field `").and_then(|rest| rest.split('`').next()) {
        return (format!("the key `{key}` is missing"), None);
    }
    if let Some(key) = said.strip_prefix("duplicate mapping key: ").and_then(|rest| rest.split(',').next()) {
        return (format!("the key `{key}` is given twice"), Some("keep one of them".into()));
    }
    if let Some((found, right)) = said.strip_prefix("invalid value: ").and_then(|rest| rest.split_once(", expected ")) {
        return (format!("the {found} does not belong here"), Some(format!("write {right}")));
    }
    match said {
        "expected mapping start" => ("keys and values are expected here".into(), None),
        "expected string scalar" => ("a text is expected here".into(), None),
        other => (other.to_owned(), None),
    }
}

fn nearest(found: &str, known: &str) -> String {
    let known: Vec<&str> = known.trim_start_matches("one of ").split(", ").map(|key| key.trim_matches('`')).collect();
    match known.iter().map(|key| (distance(found, key), *key)).min() {
        Some((far, key)) if far <= 2 && far < found.chars().count() => format!("did you mean `{key}`?"),
        _ => format!("the keys are {}", known.join(", ")),
    }
}

/// How many letters must be added, dropped or changed to get from one word to the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut corner = std::mem::replace(&mut row[0], i + 1);
        for (j, to) in b.iter().enumerate() {
            let changed = corner + usize::from(from != *to);
            corner = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(corner + 1);
        }
    }
    row[b.len()]
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Node, D::Error> {
        from.deserialize_any(Walker)
    }
}

struct Walker;

impl<'de> Visitor<'de> for Walker {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Node, E> {
        Ok(Node::Leaf)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Node, E> {
        Ok(Node::Leaf)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Node, E> {
        Ok(Node::Leaf)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Node, E> {
        Ok(Node::Leaf)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Node, E> {
        Ok(Node::Leaf)
    }

    fn visit_unit<E: Error>(self) -> Result<Node, E> {
        Ok(Node::Leaf)
    }

    fn visit_none<E: Error>(self) -> Result<Node, E> {
        Ok(Node::Leaf)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Node, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Node::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Node::Map(entries))
    }
}
