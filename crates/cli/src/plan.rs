//! A plan as people read it before they say yes.

use serde_json::Value;
use wire::api::{Action, FieldDiff, PlanItem, PlanView};

use crate::out::{Out, Tone};

pub(crate) fn render(plan: &PlanView, out: &Out) -> String {
    let mut text = String::new();
    for item in plan.items.iter().filter(|item| item.action != Action::Same) {
        text += &render_item(item, out);
    }
    let told = |action, word: &str| format!("{} {word}", plan.count(action));
    let counts = [
        told(Action::Create, "to create"),
        told(Action::Change, "to change"),
        told(Action::Delete, "to delete"),
        told(Action::Same, "unchanged"),
    ];
    text + &format!("Plan: {}.\n", counts.join(", "))
}

fn render_item(item: &PlanItem, out: &Out) -> String {
    let (sign, tone, word) = match item.action {
        Action::Create => ("+", Tone::Good, "create"),
        Action::Change => ("~", Tone::Warn, "change"),
        Action::Delete => ("-", Tone::Bad, "delete"),
        Action::Same => ("=", Tone::Faint, "same"),
    };
    let mut text = format!("{} {}\n", out.paint(tone, &format!("{sign} {word}")), item.job);
    for field in &item.fields {
        text += &render_field(field);
    }
    if !item.followers.is_empty() {
        let followers = format!("nothing starts {} any more", item.followers.join(", "));
        text += &format!("    {}\n", out.paint(Tone::Warn, &followers));
    }
    text
}

fn render_field(field: &FieldDiff) -> String {
    match (&field.old, &field.new) {
        (None, Some(new)) => format!("    {}: {}\n", field.path, brief(new)),
        (Some(old), None) => format!("    {}: {} → (gone)\n", field.path, brief(old)),
        (Some(old), Some(new)) if long(old) || long(new) => {
            format!("    {}:\n{}", field.path, line_diff(&words(old), &words(new)))
        }
        (Some(old), Some(new)) => format!("    {}: {} → {}\n", field.path, brief(old), brief(new)),
        (None, None) => String::new(),
    }
}

fn words(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), String::from)
}

fn long(value: &Value) -> bool {
    words(value).contains('\n')
}

/// A value on one line; of a long text its first line and how many follow.
fn brief(value: &Value) -> String {
    let text = words(value);
    let mut lines = text.trim_end().lines();
    let first: String = lines.next().unwrap_or_default().chars().take(100).collect();
    match lines.count() {
        0 => first,
        more => format!("{first} … and {}", count(more)),
    }
}

/// The lines that differ between two texts, without those both begin and end with.
fn line_diff(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let start = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let tail = old[start..].iter().rev().zip(new[start..].iter().rev()).take_while(|(a, b)| a == b).count();
    let mut text = String::new();
    if start > 0 {
        text += &format!("      {} as before\n", count(start));
    }
    for line in &old[start..old.len() - tail] {
        text += &format!("      - {line}\n");
    }
    for line in &new[start..new.len() - tail] {
        text += &format!("      + {line}\n");
    }
    if tail > 0 {
        text += &format!("      {} as before\n", count(tail));
    }
    text
}

fn count(lines: usize) -> String {
    if lines == 1 { "1 line".into() } else { format!("{lines} lines") }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use wire::job::parse_yaml;

    use super::*;

    #[test]
    fn a_plan_shows_what_will_be_done_and_nothing_else() {
        let old = parse_yaml(
            "job: b\nevery: 5m\nsh: |\n  cd /srv\n  make\n  exit 0\ntimeout: 20m\n---\njob: s\nnoop: true\n",
        );
        let new = parse_yaml(
            "job: b\nevery: 10m\nsh: |\n  cd /srv\n  make all\n  make test\n  exit 0\nretry: { times: 3, delay: 1s }\n---\njob: n\ncron: \"0 0 2 * * ?\"\npython: |\n  import os\n  print(1)\n",
        );
        let (old, new) = (old.unwrap(), new.unwrap());
        let plan = PlanView {
            applied: false,
            items: vec![
                PlanItem::change(&old[0], &new[0]),
                PlanItem::create(&new[1]),
                PlanItem::delete("gone_job", vec!["f".into(), "g".into()]),
                PlanItem::change(&old[1], &old[1]),
            ],
        };
        expect![[r#"
            ~ change b
                every: 5m → 10m
                retry: {"delay":"1s","times":3}
                sh:
                  1 line as before
                  - make
                  + make all
                  + make test
                  1 line as before
                timeout: 20m → (gone)
            + create n
                cron: 0 0 2 * * ?
                python: import os … and 1 line
            - delete gone_job
                nothing starts f, g any more
            Plan: 1 to create, 1 to change, 1 to delete, 1 unchanged.
        "#]]
        .assert_eq(&render(&plan, &Out::plain("2026-11-15T10:00:00Z")));
    }
}
