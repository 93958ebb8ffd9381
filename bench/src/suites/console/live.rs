//! Two pages while jobs fire without end, one after the other: what their memory does, how long the page is busy at a time,
//! and how late a row shows what happened.

use wire::api::DeleteQuery;
use wire::job::{EveryForm, EveryMap, JobBody};

use super::browser::Browser;
use super::{BLOCKED_MS, GROWN, SUITE, number};
use crate::figure::{Figure, Target};

/// Each is made and ends every second: two events each.
const JOBS: usize = 100;
const SECONDS: &str = "60";
const PAGES: [&str; 2] = ["instances", "dashboard"];

pub(super) fn run(browser: &Browser) -> anyhow::Result<Vec<Figure>> {
    browser.product.apply(&(0..JOBS).map(every_second).collect::<Vec<_>>())?;
    let mut figures = Vec::new();
    for page in PAGES {
        figures.extend(one(browser, page)?);
    }
    for n in 0..JOBS {
        let name = every_second(n).job;
        let query = DeleteQuery::default();
        browser.product.call(|client| async move { client.delete_job(&name, &query).await })?;
    }
    Ok(figures)
}

fn one(browser: &Browser, page: &str) -> anyhow::Result<Vec<Figure>> {
    let told = browser.drive("live", &["--page", page, "--seconds", SECONDS])?;
    let told = told.first().cloned().unwrap_or_default();
    let figure = |what: &str, unit| Figure::new(SUITE, format!("live {page}: {what}"), unit);
    let both = |figure: Figure, name: &str| Figure {
        ours: vec![number(&told["last"], name)],
        floor: vec![number(&told["first"], name)],
        ..figure
    };
    let one = |figure: Figure, name: &str| Figure { ours: vec![number(&told, name)], ..figure };
    let mut figures = vec![
        one(figure("events", "/s"), "events"),
        both(figure("JS heap at the end, and after 10 s", "MB").target(Target::TimesAtMost(GROWN)), "heap"),
        both(figure("nodes at the end, and after 10 s", ""), "nodes"),
        both(figure("listeners at the end, and after 10 s", ""), "listeners"),
        one(figure("longest task", "ms").target(Target::AtMost(BLOCKED_MS)), "task"),
    ];
    // The dashboard has no rows of instances.
    if told["lag_p50"].is_number() {
        figures.push(one(figure("from event to painted row, p50", "ms"), "lag_p50"));
        figures.push(one(figure("from event to painted row, p99", "ms"), "lag_p99"));
    }
    Ok(figures)
}

fn every_second(n: usize) -> JobBody {
    let every = EveryMap { every: "1s".into(), ..EveryMap::default() };
    JobBody { job: format!("tick_{n}"), every: Some(EveryForm::Long(every)), noop: Some(true), ..JobBody::default() }
}
