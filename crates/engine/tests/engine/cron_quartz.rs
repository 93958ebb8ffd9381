//! The Quartz dialect against answers recorded from Quartz 2.3.2 itself (see `fixtures/README.md`).

use std::fmt::Write as _;

use duly_engine::cron::{Pattern, Schedule, Zone};
use model::{CronDialect, DstRule};

const START: i64 = 1_794_709_230; // 2026-11-15T10:20:30+08:00

#[test]
fn chosen_expressions_fire_as_in_quartz() {
    agree(include_str!("fixtures/quartz_chosen.txt"), 6, 325);
}

#[test]
fn generated_expressions_fire_as_in_quartz() {
    agree(include_str!("fixtures/quartz_generated.txt"), 3, 5000);
}

/// Holds each recorded line against what we answer to its expression.
fn agree(recorded: &str, fires: usize, least: usize) {
    let zone = Zone::named("Asia/Shanghai").unwrap();
    let mut differences = String::new();
    let mut lines = 0;
    for line in recorded.lines() {
        let (expression, quartz) = line.split_once('\t').expect("an expression, a tab, its answer");
        let ours = answer(&unescape(expression), &zone, fires);
        if ours != quartz {
            writeln!(differences, "{expression}\n  quartz {quartz}\n  ours   {ours}").unwrap();
        }
        lines += 1;
    }
    assert!(lines >= least, "only {lines} recorded answers");
    assert!(differences.is_empty(), "differences:\n{differences}");
}

fn answer(expression: &str, zone: &Zone, fires: usize) -> String {
    let Ok(pattern) = Pattern::parse(CronDialect::Quartz, expression) else { return "!".to_owned() };
    let schedule = Schedule { pattern: pattern.into(), zone: zone.clone(), dst: DstRule::Quartz };
    let mut at = START * 1_000_000;
    let mut answers = Vec::new();
    while answers.len() < fires {
        let Some(next) = schedule.next_after(at) else {
            answers.push("-".to_owned());
            break;
        };
        answers.push((next / 1_000_000).to_string());
        at = next;
    }
    answers.join(" ")
}

fn unescape(text: &str) -> String {
    text.replace("\\t", "\t").replace("\\n", "\n").replace("\\r", "\r").replace("\\\\", "\\")
}

/// Every pattern asked from many instants around every transition; answers are seconds after the transition.
#[test]
fn clock_changes_are_lived_through_as_in_quartz() {
    let mut lines = include_str!("fixtures/quartz_dst.txt").lines();
    let starts: Vec<i64> = lines.next().unwrap().split(' ').skip(1).map(|start| start.parse().unwrap()).collect();
    let mut zone = Zone::utc();
    let mut transition = 0;
    let mut asked = 0;
    let mut differences = String::new();
    for line in lines {
        if let Some(named) = line.strip_prefix("zone ") {
            let (name, at) = named.split_once(' ').unwrap();
            (zone, transition) = (Zone::named(name).unwrap(), at.parse().unwrap());
            continue;
        }
        let (expression, quartz) = line.split_once('\t').unwrap();
        let pattern = Pattern::parse(CronDialect::Quartz, expression).unwrap();
        let schedule = Schedule { pattern: pattern.into(), zone: zone.clone(), dst: DstRule::Quartz };
        for (start, quartz) in starts.iter().zip(quartz.split(' ')) {
            let next = schedule.next_after((transition + start) * 1_000_000);
            let ours = next.map_or("-".to_owned(), |next| (next / 1_000_000 - transition).to_string());
            if ours != quartz {
                let zone = zone.name();
                writeln!(
                    differences,
                    "{expression} in {zone}, {start} s from {transition}: quartz {quartz}, ours {ours}"
                )
                .unwrap();
            }
            asked += 1;
        }
    }
    assert!(asked > 100_000, "only {asked} recorded answers");
    assert!(differences.is_empty(), "differences:\n{differences}");
}
