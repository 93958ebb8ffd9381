//! Expressions, zones and rules to try, for the cron tests.
#![allow(unreachable_pub)] // there is nobody outside

use std::ops::Range;

use duly_engine::cron::{Pattern, Schedule, Zone};
use jiff::Timestamp;
use model::{CronDialect, DstRule, Fold, Gap};
use proptest::prelude::*;

#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) dialect: CronDialect,
    pub(crate) text: String,
    pub(crate) zone: Zone,
    pub(crate) dst: DstRule,
}

impl Case {
    pub(crate) fn schedule(&self) -> Option<Schedule> {
        let pattern = Pattern::parse(self.dialect, &self.text).ok()?;
        Some(Schedule { pattern: pattern.into(), zone: self.zone.clone(), dst: self.dst })
    }
}

/// Fires one per line, so that a difference can be read.
pub(crate) fn show(fires: &[i64]) -> Vec<String> {
    fires.iter().map(|at| Timestamp::from_microsecond(*at).unwrap().to_string()).collect()
}

/// The instants, in seconds, at which a zone changes its clock.
pub(crate) fn transitions(zone: &Zone, years: Range<i16>) -> impl Iterator<Item = i64> {
    let start =
        |year| jiff::civil::date(year, 1, 1).at(0, 0, 0, 0).to_zoned(jiff::tz::TimeZone::UTC).unwrap().timestamp();
    let end = start(years.end);
    zone.tz()
        .following(start(years.start))
        .map(|change| change.timestamp())
        .take_while(move |at| *at < end)
        .map(|at| at.as_second())
}

pub(crate) fn rules() -> impl Iterator<Item = DstRule> {
    let policies = [Gap::Skip, Gap::AtGapEnd].into_iter().flat_map(|gap| {
        [Fold::First, Fold::Second, Fold::Both].into_iter().map(move |fold| DstRule::Policy { gap, fold })
    });
    policies.chain([DstRule::Quartz])
}

pub(crate) fn any_rule() -> impl Strategy<Value = DstRule> {
    prop::sample::select(rules().collect::<Vec<_>>())
}

pub(crate) fn any_zone() -> impl Strategy<Value = Zone> {
    let names = [
        "UTC",
        "Asia/Shanghai",
        "Asia/Kolkata",
        "America/New_York",
        "Europe/Berlin",
        "Australia/Lord_Howe", // half an hour
        "America/Havana",      // at midnight
        "Europe/Dublin",       // winter is the saving time
        "America/Sao_Paulo",
    ];
    prop::sample::select(names.map(|name| Zone::named(name).unwrap()).to_vec())
}

/// A field of either dialect: mostly what people write, values mostly inside the field.
fn field(min: u32, max: u32) -> BoxedStrategy<String> {
    let item = prop_oneof![
        3 => Just("*".to_owned()),
        4 => (min..=max).prop_map(|value| value.to_string()),
        2 => (1..=(max - min).min(25)).prop_map(|step| format!("*/{step}")),
        2 => (min..=max, min..=max).prop_map(|(from, to)| format!("{from}-{to}")),
        1 => (min..=max, min..=max, 1..9u32).prop_map(|(from, to, step)| format!("{from}-{to}/{step}")),
        1 => (min..=max, 1..9u32).prop_map(|(from, step)| format!("{from}/{step}")),
    ];
    prop::collection::vec(item, 1..3).prop_map(|items| items.join(",")).boxed()
}

fn named(names: &'static [&'static str]) -> BoxedStrategy<String> {
    let name = || prop::sample::select(names);
    prop_oneof![name().prop_map(str::to_owned), (name(), name()).prop_map(|(from, to)| format!("{from}-{to}"))].boxed()
}

const MONTHS: &[&str] = &["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const WEEKDAYS: &[&str] = &["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

fn zero_or(field: BoxedStrategy<String>) -> BoxedStrategy<String> {
    prop_oneof![2 => Just("0".to_owned()), 1 => field].boxed()
}

fn month() -> BoxedStrategy<String> {
    prop_oneof![4 => Just("*".to_owned()), 2 => field(1, 12), 1 => named(MONTHS)].boxed()
}

/// Five fields.
pub(crate) fn unix_text() -> impl Strategy<Value = String> {
    let weekday = prop_oneof![2 => Just("*".to_owned()), 2 => field(0, 7), 1 => named(WEEKDAYS)];
    (field(0, 59), prop_oneof![field(0, 23), field(0, 3)], field(1, 31), month(), weekday)
        .prop_map(|(minute, hour, day, month, weekday)| format!("{minute} {hour} {day} {month} {weekday}"))
}

/// Six or seven fields, with the signs for days.
pub(crate) fn quartz_text() -> impl Strategy<Value = String> {
    let of_month = prop_oneof![
        3 => Just("*".to_owned()),
        3 => field(1, 31),
        1 => prop::sample::select(vec!["L".to_owned(), "LW".to_owned()]),
        1 => (0..31u32).prop_map(|before| format!("L-{before}")),
        1 => (0..28u32).prop_map(|before| format!("L-{before}W")),
        2 => (1..32u32).prop_map(|day| format!("{day}W")),
    ]
    .prop_map(|day| (day, "?".to_owned()));
    let of_week = prop_oneof![
        2 => field(1, 7),
        1 => named(WEEKDAYS),
        1 => (1..8u32, 1..6u32).prop_map(|(day, nth)| format!("{day}#{nth}")),
        1 => (1..8u32).prop_map(|day| format!("{day}L")),
        1 => prop::sample::select(WEEKDAYS).prop_map(|day| format!("{day}L")),
    ]
    .prop_map(|day| ("?".to_owned(), day));
    let year = prop_oneof![6 => Just(String::new()), 1 => field(1970, 2100).prop_map(|year| format!(" {year}"))];
    let hour = prop_oneof![field(0, 23), field(0, 3)];
    (zero_or(field(0, 59)), zero_or(field(0, 59)), hour, prop_oneof![of_month, of_week], month(), year).prop_map(
        |(second, minute, hour, (day, weekday), month, year)| {
            format!("{second} {minute} {hour} {day} {month} {weekday}{year}")
        },
    )
}
