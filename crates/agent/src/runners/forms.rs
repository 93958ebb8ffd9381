//! The shapes in which a secret shows up in output: as it is, and as the usual encoders write it. Pure.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};

/// Hiding less would destroy the output and protect nothing.
const SHORTEST: usize = 4;
/// A line of a longer secret that says something by itself.
const LINE_SHORTEST: usize = 8;

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Forms {
    pub(super) words: Vec<Vec<u8>>,
    /// Base64, which many programs break into lines.
    pub(super) wrapped: Vec<Vec<u8>>,
}

impl Forms {
    pub(super) fn of<'s>(secrets: impl Iterator<Item = &'s str>) -> Forms {
        let (mut words, mut wrapped) = (BTreeSet::new(), BTreeSet::new());
        for secret in secrets {
            words.extend(plain(secret));
            wrapped.extend(base64_forms(secret.as_bytes()));
        }
        let long = |word: &String| word.len() >= SHORTEST;
        let bytes = |all: BTreeSet<String>| all.into_iter().filter(long).map(String::into_bytes).collect();
        Forms { words: bytes(words), wrapped: bytes(wrapped) }
    }
}

fn plain(secret: &str) -> Vec<String> {
    let mut forms = vec![secret.to_owned()];
    // Whoever prints a key line by line, or indented, prints each of its lines.
    if secret.trim_end().contains('\n') {
        let lines = secret.lines().map(str::trim).filter(|line| line.len() >= LINE_SHORTEST);
        forms.extend(lines.map(String::from));
    }
    forms.extend(in_address(secret));
    forms.extend(in_json(secret));
    forms
}

/// As in URLs and forms: encoders differ in what they leave as it is, and in the case of digits.
fn in_address(secret: &str) -> Vec<String> {
    let encode = |kept: &str| {
        let byte = |byte: u8| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-' | b'.' | b'~' => char::from(byte).to_string(),
            other if kept.as_bytes().contains(&other) => char::from(other).to_string(),
            other => format!("%{other:02X}"),
        };
        secret.bytes().map(byte).collect::<String>()
    };
    let mut forms = vec![encode(""), encode("!*'()"), encode("/"), encode("").replace("%20", "+")];
    let lower: Vec<String> = forms.iter().map(|form| lower_escapes(form)).collect();
    forms.extend(lower);
    forms
}

fn lower_escapes(form: &str) -> String {
    let mut parts = form.split('%');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (digits, rest) = part.split_at(2.min(part.len()));
        out.push('%');
        out.push_str(&digits.to_ascii_lowercase());
        out.push_str(rest);
    }
    out
}

/// As in JSON: with as few escapes as possible, in ASCII alone, and as careful encoders write it.
fn in_json(secret: &str) -> Vec<String> {
    let json = serde_json::Value::from(secret).to_string();
    let inner = json[1..json.len() - 1].to_owned();
    let careful = inner.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026");
    let slashes = inner.replace('/', "\\/");
    let ascii = inner.chars().map(|c| match c.is_ascii() {
        true => c.to_string(),
        false => c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect(),
    });
    vec![ascii.collect(), careful, slashes, inner]
}

/// Wherever the secret begins in what is encoded: as far as the digits tell of it and nothing else.
fn base64_forms(secret: &[u8]) -> Vec<String> {
    let mut forms = vec![STANDARD.encode(secret), URL_SAFE.encode(secret)];
    for before in 0..3usize {
        let text = [&vec![0; before][..], secret].concat();
        // Six bits a digit: those that hold a bit of what is before or behind are left out.
        let (first, last) = ((before * 8).div_ceil(6), text.len() * 8 / 6);
        forms.extend(
            [STANDARD_NO_PAD.encode(&text), URL_SAFE_NO_PAD.encode(&text)].map(|form| form[first..last].into()),
        );
    }
    forms
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::shim::Masks;

    /// What is left of a text in which the secret stands.
    fn hidden(secret: &str, text: &str) -> String {
        let forms = Forms::of([secret].into_iter());
        let masks = Arc::new(Masks::new(&forms.words, &forms.wrapped));
        String::from_utf8(masks.hide(text.as_bytes())).unwrap()
    }

    #[test]
    fn base64_is_hidden_wherever_the_secret_begins() {
        let secret = "hunter22-and-more-than-fifty-seven-bytes-so-that-base64-breaks-its-lines";
        for before in 0..9 {
            for after in 0..4 {
                let text = format!("{}{secret}{}", "x".repeat(before), "y".repeat(after));
                for encoded in [STANDARD.encode(&text), URL_SAFE.encode(&text)] {
                    let (first, rest) = encoded.split_at(76);
                    let shown = hidden(secret, &format!("{first}\n{rest}\n"));
                    let left = shown.replace("***", "").len();
                    let around = (before * 8).div_ceil(6) + (after * 8).div_ceil(6) + 7;
                    assert!(shown.contains("***") && left <= around, "{before}+{after}: {encoded} became {shown}");
                }
            }
        }
    }

    #[test]
    fn addresses_forms_and_json_are_hidden() {
        let secret = "pä ss/w\"ord&<1>";
        for text in [
            "p%C3%A4%20ss%2Fw%22ord%26%3C1%3E",
            "p%c3%a4%20ss%2fw%22ord%26%3c1%3e",
            "p%C3%A4+ss%2Fw%22ord%26%3C1%3E",
            "p%C3%A4%20ss/w%22ord%26%3C1%3E",
            r#"pä ss/w\"ord&<1>"#,
            r#"p\u00e4 ss/w\"ord&<1>"#,
            r#"pä ss/w\"ord\u0026\u003c1\u003e"#,
            r#"pä ss\/w\"ord&<1>"#,
            secret,
        ] {
            assert_eq!(hidden(secret, &format!("a={text};")), "a=***;", "{text}");
        }
    }

    #[test]
    fn a_long_secret_is_hidden_line_by_line() {
        let key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkq\nab\n-----END KEY-----\n";
        assert_eq!(hidden(key, "  MIIEvQIBADANBgkq\n  ab\n"), "  ***\n  ab\n");
        assert_eq!(hidden(key, key), "***");
    }
}
