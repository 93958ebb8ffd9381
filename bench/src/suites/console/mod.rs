//! The web console in a real browser, with a million instances and twenty thousand jobs in the store: how soon a list is on
//! the screen beside the bare call for it, whether typing ever waits, and what live updates do to the page's memory.

mod browser;
mod fill;
mod live;

use std::collections::BTreeMap;

use serde_json::Value;

use self::browser::Browser;
use super::{Bench, say};
use crate::figure::{Figure, Target};
use crate::product::Product;

const SUITE: &str = "console";
const SLOTS: u32 = 64;
/// Of the call and the same page as bare markup, painted.
const TIMES: f64 = 2.0;
/// What browsers call a long task.
const BLOCKED_MS: f64 = 50.0;
/// Of the memory after ten seconds.
const GROWN: f64 = 1.1;

pub(crate) fn run(bench: &Bench) -> anyhow::Result<Vec<Figure>> {
    if let Some(reason) = browser::why_not(&bench.python) {
        eprintln!("{SUITE} is left out: {reason}");
        return Ok(Vec::new());
    }
    let dir = bench.fresh(SUITE)?;
    let token = fill::store(bench, &dir)?;
    let product = Product::up_again(&bench.duly, &dir, token, SLOTS)?;
    fill::around(&product)?;
    let browser = Browser { python: &bench.python, product: &product, dir: &dir };
    let mut figures = lists(bench, &browser)?;
    figures.extend(typing(bench, &browser)?);
    figures.extend(live::run(&browser)?);
    drop(product);
    std::fs::remove_dir_all(dir)?;
    Ok(figures)
}

/// Each list, in the order in which they were opened.
fn lists(bench: &Bench, browser: &Browser) -> anyhow::Result<Vec<Figure>> {
    let rounds = browser.drive("lists", &["--rounds", &bench.rounds.to_string(), "--job", &fill::name(fill::ASKED)])?;
    let mut found: Vec<(String, [Figure; 5])> = Vec::new();
    for (round, lists) in rounds.iter().enumerate() {
        for list in lists.as_array().into_iter().flatten() {
            let name = list["list"].as_str().unwrap_or_default();
            if !found.iter().any(|(known, _)| known == name) {
                found.push((name.into(), of_list(name)));
            }
            let (_, [target, alone, call, complete, address]) =
                found.iter_mut().find(|(known, _)| known == name).expect("was just put there");
            target.both(number(list, "page"), number(list, "plain"));
            alone.both(number(list, "page"), number(list, "call"));
            call.both(number(list, "call"), number(list, "outside"));
            complete.ours.push(number(list, "complete"));
            address.ours.push(number(list, "address"));
        }
        say(SUITE, round as u32, "lists");
    }
    Ok(found.into_iter().flat_map(|(_, figures)| figures).collect())
}

fn of_list(name: &str) -> [Figure; 5] {
    let figure = |what: &str| Figure::new(SUITE, format!("{name}: {what}"), "ms");
    [
        figure("painted, and the call painted plainly").target(Target::TimesAtMost(TIMES)),
        figure("painted, and the call alone"),
        figure("the call in the browser, and outside"),
        figure("complete"),
        figure("opened by its address"),
    ]
}

fn typing(bench: &Bench, browser: &Browser) -> anyhow::Result<Vec<Figure>> {
    let rounds =
        browser.drive("typing", &["--rounds", &bench.rounds.to_string(), "--job", &fill::name(fill::ASKED)])?;
    let mut found: BTreeMap<String, [Figure; 3]> = BTreeMap::new();
    for (field, told) in rounds.iter().flat_map(|round| round.as_object().into_iter().flatten()) {
        let [task, key, frame] = found.entry(field.clone()).or_insert_with(|| {
            let figure = |what: &str| Figure::new(SUITE, format!("typing in {field}: {what}"), "ms");
            let blocked = Target::AtMost(BLOCKED_MS);
            [
                figure("longest task").target(blocked),
                figure("slowest key, to the next frame"),
                figure("longest time without a frame"),
            ]
        });
        task.ours.push(number(told, "task"));
        key.ours.push(number(told, "key"));
        frame.ours.push(number(told, "frame"));
    }
    Ok(found.into_values().flatten().collect())
}

/// What was not measured is no number.
fn number(told: &Value, name: &str) -> f64 {
    told[name].as_f64().unwrap_or(f64::NAN)
}
