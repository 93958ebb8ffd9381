//! Puts parameters and variables into arguments: `--day=${day}`. What reads like code stays as it is
//! ([`wire::fill::argument_parts`]).

use std::collections::HashMap;

use serde_json::{Map, Value};
use wire::fill::{ArgumentPart, argument_parts};

use super::plain;

/// The job's own parameters come first, then variables, then parameters given to this instance alone: whoever may start
/// a job must not change what its variables say. Placeholders without any of them stay as they are.
pub(super) fn fill(
    arg: &str,
    own: &Map<String, Value>,
    variables: &HashMap<String, String>,
    params: &Map<String, Value>,
) -> String {
    let Some(parts) = argument_parts(arg) else { return arg.to_owned() };
    let mut filled = String::with_capacity(arg.len());
    for part in parts {
        match part {
            ArgumentPart::Plain(text) => filled.push_str(text),
            ArgumentPart::Placeholder { name, whole } => match variables.get(name) {
                Some(value) if !own.contains_key(name) => filled.push_str(value),
                _ => filled.push_str(&params.get(name).map_or_else(|| whole.to_owned(), plain)),
            },
        }
    }
    filled
}

#[cfg(test)]
mod tests {
    fn check(arg: &str, filled: &str) {
        let params = serde_json::json!({"day": "2024-02-29", "n": 3, "list": [1, "a"], "evil": "$(rm -rf /)", "日": "x", "zone": "theirs"});
        let own = serde_json::json!({"day": "1970-01-01"});
        let variables =
            [("zone", "eu"), ("day", "never"), ("deep", "${n}")].map(|(name, value)| (name.into(), value.into()));
        let filled_in = super::fill(arg, own.as_object().unwrap(), &variables.into(), params.as_object().unwrap());
        assert_eq!(filled_in, filled);
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
    fn variables_fill_what_is_no_parameter_of_the_job() {
        check("--zone=${zone}", "--zone=eu");
        check("${deep}", "${n}");
        check("--x=$${day}", "--x=${day}");
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
