//! Puts parameters into arguments: `--day=${day}`. An argument that is anything but plain characters and placeholders
//! is code for some interpreter and stays as it is, since a parameter must never become code.

use serde_json::{Map, Value};

use super::plain;

/// Placeholders without a parameter stay as they are.
pub(super) fn fill(arg: &str, params: &Map<String, Value>) -> String {
    let Some(parts) = parts(arg) else { return arg.to_owned() };
    let mut filled = String::with_capacity(arg.len());
    for part in parts {
        match part {
            Part::Plain(text) => filled.push_str(text),
            Part::Placeholder { name, whole } => {
                filled.push_str(&params.get(name).map_or_else(|| whole.to_owned(), plain));
            }
        }
    }
    filled
}

enum Part<'a> {
    Plain(&'a str),
    Placeholder { name: &'a str, whole: &'a str },
}

fn parts(arg: &str) -> Option<Vec<Part<'_>>> {
    let mut parts = Vec::new();
    let mut rest = arg;
    while let Some(at) = rest.find("${") {
        let end = at + rest[at..].find('}')?;
        parts.push(Part::Plain(&rest[..at]));
        parts.push(Part::Placeholder { name: &rest[at + 2..end], whole: &rest[at..=end] });
        rest = &rest[end + 1..];
    }
    parts.push(Part::Plain(rest));
    let plain = |part: &Part| match part {
        Part::Plain(text) => text.chars().all(is_plain),
        Part::Placeholder { name, .. } => name.chars().all(is_plain),
    };
    parts.iter().all(plain).then_some(parts)
}

fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || "_-.,:/=+@%".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(arg: &str, filled: &str) {
        let params =
            serde_json::json!({"day": "2024-02-29", "n": 3, "list": [1, "a"], "evil": "$(rm -rf /)", "日": "x"});
        assert_eq!(fill(arg, params.as_object().unwrap()), filled);
    }

    #[test]
    fn parameters_fill_their_places() {
        check("${day}", "2024-02-29");
        check("--day=${day}/${n}", "--day=2024-02-29/3");
        check("${list}", r#"[1,"a"]"#);
        check("${日}", "x");
        check("${evil}", "$(rm -rf /)");
    }

    #[test]
    fn what_is_no_placeholder_of_ours_stays() {
        for arg in ["", "$day", "${unknown}", "${day", "${day:-x y}"] {
            check(arg, arg);
        }
    }

    #[test]
    fn code_is_left_to_its_interpreter() {
        for arg in ["echo ${evil}", "print('${day}')", "${day};ls", "a|${n}", "\"${n}\""] {
            check(arg, arg);
        }
    }
}
