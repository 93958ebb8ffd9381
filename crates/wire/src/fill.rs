//! Placeholders in the texts of a task: `${name}` stands for a variable, `${secret.name}` for a secret, and `$${` for a
//! plain `${`. Pure: says what a text names and fills it in; where the values come from is of no concern here. Script
//! sources are never filled: a value must not become code.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::task::{HttpCall, TaskBody, TaskKind};

const SECRET: &str = "secret.";
/// Bytes of a variable's or secret's value.
pub const VALUE_MAX: usize = 16 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    Plain(&'a str),
    Variable(&'a str),
    Secret(&'a str),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPlaceholder {
    #[error("a ${{ is not closed")]
    Open,
    #[error("{0:?} cannot be the name of a variable: it {1}")]
    Name(String, &'static str),
}

/// A name without a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfilled {
    #[error(transparent)]
    Bad(#[from] BadPlaceholder),
    #[error("the variable {0} has no value")]
    Variable(String),
    #[error("the secret {0} has no value here")]
    Secret(String),
}

/// What is wrong with the name of a variable or secret, if anything.
pub fn name_fault(name: &str) -> Option<&'static str> {
    let first = |c: char| c.is_alphabetic() || c == '_';
    if name.is_empty() {
        Some("is empty")
    } else if name.chars().count() > 128 {
        Some("is longer than 128 characters")
    } else if !name.starts_with(first) {
        Some("does not begin with a letter or '_'")
    } else if !name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-')) {
        Some("has characters other than letters, digits, '_' and '-'")
    } else {
        None
    }
}

pub fn pieces(text: &str) -> Result<Vec<Piece<'_>>, BadPlaceholder> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let (before, after) = (&rest[..at], &rest[at + 2..]);
        if let Some(before) = before.strip_suffix('$') {
            pieces.extend([Piece::Plain(before), Piece::Plain("${")]);
            rest = after;
            continue;
        }
        let end = after.find('}').ok_or(BadPlaceholder::Open)?;
        let (whole, secret) = (&after[..end], after[..end].strip_prefix(SECRET));
        let name = secret.unwrap_or(whole);
        if let Some(wrong) = name_fault(name) {
            return Err(BadPlaceholder::Name(name.chars().take(64).collect(), wrong));
        }
        pieces.push(Piece::Plain(before));
        pieces.push(if secret.is_some() { Piece::Secret(name) } else { Piece::Variable(name) });
        rest = &after[end + 1..];
    }
    pieces.push(Piece::Plain(rest));
    Ok(pieces)
}

/// The text with its values in place, each as it is: a value is never read for placeholders again.
pub fn fill<'v>(
    text: &str,
    variable: impl Fn(&str) -> Option<&'v str>,
    secret: impl Fn(&str) -> Option<&'v str>,
) -> Result<String, Unfilled> {
    let mut filled = String::with_capacity(text.len());
    for piece in pieces(text)? {
        filled.push_str(match piece {
            Piece::Plain(text) => text,
            Piece::Variable(name) => variable(name).ok_or_else(|| Unfilled::Variable(name.into()))?,
            Piece::Secret(name) => secret(name).ok_or_else(|| Unfilled::Secret(name.into()))?,
        });
    }
    Ok(filled)
}

/// What a task names. Kept with it, so that whoever orders it knows what to send along without reading its texts; a task
/// that has none is sent and run as it stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Uses {
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub variables: BTreeSet<String>,
    /// In arguments a name may also be a parameter given to one instance: what is no variable waits for that.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub maybe: BTreeSet<String>,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub secrets: BTreeSet<String>,
}

impl Uses {
    /// None if nothing is to be filled in, and there is nothing to be told in confidence.
    pub fn of(task: &TaskBody) -> Option<Uses> {
        let mut uses = Uses { secrets: task.secrets.values().cloned().collect(), ..Uses::default() };
        let mut any = !uses.secrets.is_empty();
        for_each_text(task, |_, text, _| {
            any |= text.contains("${");
            for piece in pieces(text).unwrap_or_default() {
                match piece {
                    Piece::Plain(_) => {}
                    Piece::Variable(name) => drop(uses.variables.insert(name.into())),
                    Piece::Secret(name) => drop(uses.secrets.insert(name.into())),
                }
            }
        });
        for arg in arguments(&task.kind) {
            any |= arg.contains("$${");
            let names = argument_names(arg).into_iter().filter(|name| !task.params.contains_key(*name));
            uses.maybe.extend(names.map(String::from));
        }
        any |= !uses.maybe.is_empty();
        any.then_some(uses)
    }
}

/// Where a secret may stand: in what only the called sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confidence {
    Kept,
    Broken,
}

/// Every text that is filled, with its path in the job file.
pub(crate) fn for_each_text(task: &TaskBody, mut see: impl FnMut(&str, &str, Confidence)) {
    use Confidence::{Broken, Kept};
    for (key, value) in &task.env {
        see(&format!("env.{key}"), value, Broken);
    }
    if let Some(cwd) = &task.cwd {
        see("cwd", cwd, Broken);
    }
    for (key, value) in &task.params {
        strings(value, &mut |text| see(&format!("params.{key}"), text, Broken));
    }
    if let TaskKind::Http(call) = &task.kind {
        let HttpCall { url, headers, body, .. } = &**call;
        see("http.url", url, Broken);
        for (key, value) in headers {
            see(&format!("http.headers.{key}"), value, Kept);
        }
        if let Some(body) = body {
            see("http.body", body, Kept);
        }
    }
}

fn strings(value: &serde_json::Value, see: &mut dyn FnMut(&str)) {
    match value {
        serde_json::Value::String(text) => see(text),
        serde_json::Value::Array(items) => items.iter().for_each(|item| strings(item, see)),
        serde_json::Value::Object(map) => map.values().for_each(|item| strings(item, see)),
        serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Number(_) => {}
    }
}

fn arguments(kind: &TaskKind) -> &[String] {
    match kind {
        TaskKind::Script { args, .. } => args,
        TaskKind::Command { argv } => argv.get(1..).unwrap_or_default(),
        TaskKind::Noop | TaskKind::Http(_) | TaskKind::Executor { .. } => &[],
    }
}

/// One part of an argument that may be filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentPart<'a> {
    Plain(&'a str),
    Placeholder { name: &'a str, whole: &'a str },
}

/// The parts of an argument; none if it is anything but plain characters and placeholders. Then it is code for some
/// interpreter and stays as it is, since a value must never become code.
pub fn argument_parts(arg: &str) -> Option<Vec<ArgumentPart<'_>>> {
    let mut parts = Vec::new();
    let mut rest = arg;
    while let Some(at) = rest.find("${") {
        let end = at + rest[at..].find('}')?;
        match rest[..at].strip_suffix('$') {
            // `$${x}` is a plain `${x}`.
            Some(before) => parts.extend([ArgumentPart::Plain(before), ArgumentPart::Plain(&rest[at..=end])]),
            None => {
                parts.push(ArgumentPart::Plain(&rest[..at]));
                parts.push(ArgumentPart::Placeholder { name: &rest[at + 2..end], whole: &rest[at..=end] });
            }
        }
        rest = &rest[end + 1..];
    }
    parts.push(ArgumentPart::Plain(rest));
    let plain = |part: &ArgumentPart| match part {
        ArgumentPart::Plain(text) => {
            let inner = text.strip_prefix("${").and_then(|text| text.strip_suffix('}'));
            inner.unwrap_or(text).chars().all(is_plain)
        }
        ArgumentPart::Placeholder { name, .. } => name.chars().all(is_plain),
    };
    parts.iter().all(plain).then_some(parts)
}

fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || "_-.,:/=+@%".contains(c)
}

fn argument_names(arg: &str) -> Vec<&str> {
    let names = argument_parts(arg).unwrap_or_default().into_iter().filter_map(|part| match part {
        ArgumentPart::Placeholder { name, .. } => Some(name),
        ArgumentPart::Plain(_) => None,
    });
    names.filter(|name| name_fault(name).is_none()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<&str, &str>) {
        let variable =
            |name: &str| [("day", "monday"), ("deep", "${day}"), ("区", "x")].iter().find(|v| v.0 == name).map(|v| v.1);
        let secret = |name: &str| (name == "token").then_some("t0k3n");
        let filled = fill(text, variable, secret).map_err(|error| error.to_string());
        assert_eq!(filled.as_deref().map_err(String::as_str), expected, "{text}");
    }

    #[test]
    fn values_take_the_place_of_their_names_once() {
        check("", Ok(""));
        check("a ${day} b ${区}", Ok("a monday b x"));
        check("${deep}", Ok("${day}"));
        check("$day $ {day} $$ }", Ok("$day $ {day} $$ }"));
        check("$${day} $$${day}", Ok("${day} $${day}"));
        check("Bearer ${secret.token}", Ok("Bearer t0k3n"));
    }

    #[test]
    fn what_cannot_be_filled_is_said() {
        check("${night}", Err("the variable night has no value"));
        check("${secret.other}", Err("the secret other has no value here"));
        check("${day", Err("a ${ is not closed"));
        check("${}", Err(r#""" cannot be the name of a variable: it is empty"#));
        let odd =
            r#""day:-x" cannot be the name of a variable: it has characters other than letters, digits, '_' and '-'"#;
        check("${day:-x}", Err(odd));
        check("${secret.}", Err(r#""" cannot be the name of a variable: it is empty"#));
    }

    #[test]
    fn a_task_says_what_it_names() {
        let uses = |body: &str| Uses::of(&serde_json::from_str(body).unwrap());
        assert_eq!(uses(r#"{"kind":"script","lang":"shell","source":"echo ${HOME}"}"#), None);
        assert_eq!(uses(r#"{"kind":"command","argv":["sh","-c","echo ${HOME} $${x}"]}"#).unwrap(), Uses::default());
        let all = uses(
            r#"{"kind":"http","url":"https://${host}/","method":"POST","headers":{"a":"${secret.t}"},"body":"${b}",
                "params":{"p":["${q}"]},"env":{"E":"$${no} ${e}"},"secrets":{"S":"s"}}"#,
        );
        let all = all.unwrap();
        assert_eq!(Vec::from_iter(&all.variables), ["b", "e", "host", "q"]);
        assert_eq!(Vec::from_iter(&all.secrets), ["s", "t"]);
        let args = uses(r#"{"kind":"command","argv":["x","--a=${a}","${b}","$(${c})"],"params":{"b":1}}"#).unwrap();
        assert_eq!(Vec::from_iter(&args.maybe), ["a"]);
        assert!(args.variables.is_empty());
    }
}
