//! The masks against the brute-force matcher: random expressions of both dialects, in zones with odd clocks, under every
//! rule for clock changes.

use crate::cron_cases::{Case, any_rule, any_zone, quartz_text, show, unix_text};
use duly_engine::cron::{Pattern, Schedule, Zone, ZoneCache, brute};
use model::{CronDialect, DstRule};
use proptest::prelude::*;

const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;

/// 1970 to 2100, half of the time close to a clock change.
fn any_instant(zone: &Zone) -> impl Strategy<Value = i64> + use<> {
    let changes: Vec<i64> = crate::cron_cases::transitions(zone, 1975..2060).map(|at| at * SECOND).collect();
    let anywhere = 0..(130 * 365 * DAY);
    let near =
        (any::<prop::sample::Index>(), -3 * DAY..DAY, anywhere.clone()).prop_map(move |(index, off, anywhere)| {
            if changes.is_empty() { anywhere } else { changes[index.index(changes.len())] + off }
        });
    prop_oneof![near, anywhere]
}

fn any_case() -> impl Strategy<Value = (Case, i64)> {
    let text = prop_oneof![
        quartz_text().prop_map(|text| (CronDialect::Quartz, text)),
        unix_text().prop_map(|text| (CronDialect::Unix, text)),
    ];
    (text, any_zone(), any_rule()).prop_flat_map(|((dialect, text), zone, dst)| {
        let at = any_instant(&zone);
        (Just(Case { dialect, text, zone, dst }), at)
    })
}

/// A window long enough for some dozens of fires.
fn window(schedule: &Schedule, from: i64) -> (i64, i64) {
    let fires = std::iter::successors(schedule.next_after(from), |at| schedule.next_after(*at));
    let end = fires.take(60).last().unwrap_or(from);
    (from, end.clamp(from + DAY / 4, from + 1500 * DAY))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2500, ..ProptestConfig::default() })]

    #[test]
    fn next_and_prev_walk_through_the_fires_brute_force_finds((case, from) in any_case()) {
        let Some(schedule) = case.schedule() else { return Ok(()) };
        let (from, to) = window(&schedule, from);
        let brute = brute::fires(case.dialect, &case.text, &case.zone, case.dst, from, to).unwrap();
        // Quartz's answer depends on where it comes from: let it come from well before the window.
        let run_up = if case.dst == DstRule::Quartz { 2 * DAY } else { 1 };
        let forward: Vec<i64> = std::iter::successors(schedule.next_after(from - run_up), |at| schedule.next_after(*at))
            .skip_while(|at| *at < from)
            .take_while(|at| *at < to)
            .collect();
        prop_assert_eq!(show(&forward), show(&brute), "forward from {} to {}", from, to);
        if case.dst != DstRule::Quartz {
            let mut backward: Vec<i64> = std::iter::successors(schedule.prev_before(to), |at| schedule.prev_before(*at))
                .take_while(|at| *at >= from)
                .collect();
            backward.reverse();
            prop_assert_eq!(show(&backward), show(&brute), "backward");
        }
    }

    #[test]
    fn no_fire_lies_between_an_instant_and_its_neighbours((case, at) in any_case(), micros in 0..SECOND) {
        let Some(schedule) = case.schedule() else { return Ok(()) };
        let at = at + micros;
        prop_assert_eq!(schedule.next_after_cached(at, &mut ZoneCache::default()), schedule.next_after(at));
        if let Some(next) = schedule.next_after(at) {
            prop_assert!(next > at);
            prop_assert_eq!(next % SECOND, 0);
            prop_assert_eq!(schedule.next_after(next - 1), Some(next), "a fire is found again from just before it");
            if case.dst != DstRule::Quartz {
                let before = schedule.prev_before(next);
                prop_assert!(before.is_none_or(|before| before <= at));
                prop_assert!(before.is_none_or(|before| schedule.next_after(before) == Some(next)));
            }
        }
        if let Some(prev) = schedule.prev_before(at) {
            prop_assert!(prev < at);
            prop_assert_eq!(schedule.prev_before(prev + 1), Some(prev));
            let after = schedule.next_after(prev);
            prop_assert!(after.is_none_or(|after| after >= at));
            if case.dst != DstRule::Quartz {
                prop_assert!(after.is_none_or(|after| schedule.prev_before(after) == Some(prev)));
            }
        }
    }

    #[test]
    fn one_cache_serves_many_schedules(cases in prop::collection::vec(any_case(), 2..6)) {
        let mut cache = ZoneCache::default();
        for (case, at) in &cases {
            if let Some(schedule) = case.schedule() {
                prop_assert_eq!(schedule.next_after_cached(*at, &mut cache), schedule.next_after(*at));
            }
        }
    }

    #[test]
    fn any_text_is_answered_without_panic(text in ANY_TEXT, at: i64) {
        for dialect in [CronDialect::Quartz, CronDialect::Unix] {
            let brute = brute::fires(dialect, &text, &Zone::utc(), DstRule::default(), 0, DAY / 24);
            match Pattern::parse(dialect, &text) {
                Err(refused) => prop_assert!(refused.at <= text.len(), "{}", refused),
                Ok(pattern) => {
                    let schedule = Schedule { pattern: pattern.into(), zone: Zone::utc(), dst: DstRule::default() };
                    prop_assert!(schedule.next_after(at).is_none_or(|next| next > at));
                    prop_assert!(schedule.prev_before(at).is_none_or(|prev| prev < at));
                    let fires = std::iter::successors(schedule.next_after(-1), |at| schedule.next_after(*at));
                    let fires: Vec<i64> = fires.take_while(|at| *at < DAY / 24).collect();
                    prop_assert_eq!(brute.map(|fires| show(&fires)), Ok(show(&fires)));
                }
            }
        }
    }
}

/// Anything printable, then texts closer and closer to expressions.
const ANY_TEXT: &str = "\\PC{0,60}|[0-9*/,?LW# -]{0,40}|( ?[0-9*/,?LWAMONFRI#-]{1,6}){5,8}\
    |([0-9*?,/-]{1,3} ){2}[0-9*]{1,2}[X*-]? ([?*L0-9,]{1,3}W?|9[89][X/-]?[0-9]?) (\\*|[0-9]{1,2}|JAN) ([?*L0-9,#]{1,4}|MON[#L,?/-]?[0-9]?)";

/// Brute force reads what Quartz itself answered, so the two parsers do not merely share a misunderstanding.
#[test]
fn brute_force_agrees_with_the_recorded_answers_of_quartz() {
    let zone = Zone::named("Asia/Shanghai").unwrap();
    let start = 1_794_709_230 * SECOND;
    let recorded = [include_str!("fixtures/quartz_chosen.txt"), include_str!("fixtures/quartz_generated.txt")];
    let mut compared = 0;
    for line in recorded.iter().flat_map(|file| file.lines()) {
        let (text, answer) = line.split_once('\t').unwrap();
        let text = text.replace("\\t", "\t").replace("\\n", "\n").replace("\\r", "\r");
        let fires: Vec<i64> = answer.split(' ').filter_map(|at| Some(at.parse::<i64>().ok()? * SECOND)).collect();
        let Some(&last) = fires.last().filter(|last| **last < start + 800 * DAY) else { continue };
        let brute = brute::fires(CronDialect::Quartz, &text, &zone, DstRule::Quartz, start + 1, last + 1).unwrap();
        assert_eq!(show(&brute), show(&fires), "{text}");
        compared += 1;
    }
    assert!(compared > 2000, "only {compared} compared");
}

#[test]
fn brute_force_is_quick_enough_to_verify_with() {
    let zone = Zone::named("America/New_York").unwrap();
    let count = |text, days| {
        let from = 1_793_000_000 * SECOND;
        brute::fires(CronDialect::Quartz, text, &zone, DstRule::default(), from, from + days * DAY).unwrap().len()
    };
    assert_eq!(count("* * * * * ?", 1), 86_400);
    assert_eq!(count("0 0 9-17 ? * MON-FRI", 365), 9 * 261);
    assert_eq!(count("0 30 2 29 2 ?", 365 * 8), 2);
}
