//! What clock changes do to fires, told by example, then swept over twenty years of transitions.

use crate::cron_cases::{Case, rules, show, transitions};
use duly_engine::cron::{Schedule, Zone, brute, tzdata_version};
use expect_test::expect;
use jiff::civil::{Date, date};
use jiff::{SignedDuration, Timestamp};
use model::{CronDialect, DstRule, Fold, Gap};

const SECOND: i64 = 1_000_000;
const HOUR: i64 = 3600 * SECOND;
const FIRST: DstRule = DstRule::Policy { gap: Gap::AtGapEnd, fold: Fold::First };
const SECOND_PASS: DstRule = DstRule::Policy { gap: Gap::Skip, fold: Fold::Second };
const BOTH: DstRule = DstRule::Policy { gap: Gap::Skip, fold: Fold::Both };

/// The fires from `hours` before a clock change to as many after it, on the clock of the zone.
fn fires(text: &str, (zone, day): (&str, &str), hours: i64, dst: DstRule) -> String {
    let schedule = Schedule::new(CronDialect::Quartz, text, zone, dst).unwrap();
    let tz = schedule.zone.tz();
    let midnight = day.parse::<Date>().unwrap().to_zoned(tz.clone()).unwrap().timestamp();
    let change = tz.following(midnight - SignedDuration::from_secs(1)).next().unwrap().timestamp();
    let (from, to) = (change.as_microsecond() - hours * HOUR, change.as_microsecond() + hours * HOUR);
    let mut shown = String::new();
    let mut at = from - 1;
    while let Some(next) = schedule.next_after(at).filter(|next| *next <= to) {
        let local = Timestamp::from_microsecond(next).unwrap().to_zoned(tz.clone());
        shown += &local.strftime("%d %H:%M %:z\n").to_string();
        at = next;
    }
    shown
}

const SPRING: (&str, &str) = ("America/New_York", "2026-03-08");
const AUTUMN: (&str, &str) = ("America/New_York", "2026-11-01");

#[test]
fn a_nightly_job_in_the_gap_runs_at_its_end() {
    expect![[r#"
        07 02:30 -05:00
        08 03:00 -04:00
        09 02:30 -04:00
    "#]]
    .assert_eq(&fires("0 30 2 * * ?", SPRING, 30, FIRST));
}

#[test]
fn a_nightly_job_in_the_gap_can_be_skipped() {
    expect![[r#"
        07 02:30 -05:00
        09 02:30 -04:00
    "#]]
    .assert_eq(&fires("0 30 2 * * ?", SPRING, 30, BOTH));
}

#[test]
fn many_fires_in_the_gap_are_one_and_not_beside_a_regular_one() {
    expect![[r#"
        08 03:00 -04:00
    "#]]
    .assert_eq(&fires("0 0/15 2 * * ?", SPRING, 2, FIRST));
    expect![[r#"
        08 01:00 -05:00
        08 01:20 -05:00
        08 01:40 -05:00
        08 03:00 -04:00
        08 03:20 -04:00
        08 03:40 -04:00
    "#]]
    .assert_eq(&fires("0 0/20 1-3 * * ?", SPRING, 2, FIRST));
}

#[test]
fn the_hour_before_the_gap_is_not_touched() {
    expect![[r#"
            08 01:30 -05:00
            09 01:30 -04:00
        "#]]
    .assert_eq(&fires("0 30 1 * * ?", SPRING, 24, FIRST));
}

#[test]
fn an_hourly_job_just_continues_through_the_gap() {
    expect![[r#"
        08 00:30 -05:00
        08 01:30 -05:00
        08 03:30 -04:00
        08 04:30 -04:00
    "#]]
    .assert_eq(&fires("0 30 * * * ?", SPRING, 2, FIRST));
}

#[test]
fn a_time_that_comes_twice_fires_as_the_rule_says() {
    expect![[r#"
        01 01:30 -04:00
    "#]]
    .assert_eq(&fires("0 30 1 * * ?", AUTUMN, 4, FIRST));
    expect![[r#"
        01 01:30 -05:00
    "#]]
    .assert_eq(&fires("0 30 1 * * ?", AUTUMN, 4, SECOND_PASS));
    expect![[r#"
        01 01:30 -04:00
        01 01:30 -05:00
    "#]]
    .assert_eq(&fires("0 30 1 * * ?", AUTUMN, 4, BOTH));
}

#[test]
fn an_hourly_job_is_never_silent_in_the_overlap_except_in_quartz() {
    expect![[r#"
        01 00:00 -04:00
        01 01:00 -04:00
        01 01:00 -05:00
        01 02:00 -05:00
        01 03:00 -05:00
    "#]]
    .assert_eq(&fires("0 0 * * * ?", AUTUMN, 2, FIRST));
    expect![[r#"
        01 00:00 -04:00
        01 01:00 -05:00
        01 02:00 -05:00
        01 03:00 -05:00
    "#]]
    .assert_eq(&fires("0 0 * * * ?", AUTUMN, 2, DstRule::Quartz));
}

#[test]
fn half_an_hour_is_handled_like_a_whole_one() {
    expect![[r#"
        04 02:30 +11:00
        04 02:40 +11:00
    "#]]
    .assert_eq(&fires("0 10,40 2 * * ?", ("Australia/Lord_Howe", "2026-10-04"), 3, FIRST));
    expect![[r#"
        05 01:45 +11:00
    "#]]
    .assert_eq(&fires("0 45 1 * * ?", ("Australia/Lord_Howe", "2026-04-05"), 3, FIRST));
}

#[test]
fn midnight_may_be_missing() {
    expect![[r#"
        07 00:00 -05:00
        08 01:00 -04:00
        09 00:00 -04:00
    "#]]
    .assert_eq(&fires("0 0 0 * * ?", ("America/Havana", "2026-03-08"), 30, FIRST));
}

/// Hours of all kinds, some inside every gap and overlap, interval-like and not, and some day rules.
const PATTERNS: [(CronDialect, &str); 14] = [
    (CronDialect::Quartz, "0 0/5 * * * ?"),
    (CronDialect::Quartz, "30 17 * * * ?"),
    (CronDialect::Quartz, "0 0 0 * * ?"),
    (CronDialect::Quartz, "0 30 0,1 * * ?"),
    (CronDialect::Quartz, "0 15,45 1-3 * * ?"),
    (CronDialect::Quartz, "0 10,35,50 1-3 * * ?"),
    (CronDialect::Quartz, "59 59 0-3 * * ?"),
    (CronDialect::Quartz, "0/20 29-31 2 * * ?"),
    (CronDialect::Quartz, "0 0 2 ? * SUN"),
    (CronDialect::Quartz, "0 0 23-1 L-2 * ?"),
    (CronDialect::Quartz, "0 30 2 ? * 1L"),
    (CronDialect::Unix, "*/10 */2 * * *"),
    (CronDialect::Unix, "30 2 8-14 * 0"),
    (CronDialect::Unix, "@daily"),
];

const ZONES: [&str; 8] = [
    "America/New_York",
    "Europe/Berlin",
    "Australia/Lord_Howe",
    "America/Havana",
    "Europe/Dublin",
    "Africa/Casablanca",
    "Antarctica/Troll",
    "Asia/Shanghai",
];

#[test]
fn every_transition_from_2020_to_2040_agrees_with_brute_force() {
    let mut windows = 0;
    for name in ZONES {
        let zone = Zone::named(name).unwrap();
        for (change, (dialect, text)) in
            transitions(&zone, 2020..2041).flat_map(|at| PATTERNS.map(|pattern| (at, pattern)))
        {
            for dst in rules() {
                // Two hours are skipped there, and Quartz loses its way in them: only the recorded answers say how.
                if name != "Antarctica/Troll" || dst != DstRule::Quartz {
                    let case = Case { dialect, text: text.to_owned(), zone: zone.clone(), dst };
                    agree(&case, change * SECOND - 27 * HOUR, change * SECOND + 27 * HOUR);
                    windows += 1;
                }
            }
        }
    }
    assert!(windows > 20_000, "only {windows} windows");
}

fn agree(case: &Case, from: i64, to: i64) {
    let schedule = case.schedule().unwrap();
    let fires: Vec<i64> = std::iter::successors(schedule.next_after(from - 1), |at| schedule.next_after(*at))
        .take_while(|at| *at < to)
        .collect();
    let brute = brute::fires(case.dialect, &case.text, &case.zone, case.dst, from, to).unwrap();
    assert_eq!(show(&fires), show(&brute), "{case:?}");
    if case.dst != DstRule::Quartz {
        let mut back: Vec<i64> = std::iter::successors(schedule.prev_before(to), |at| schedule.prev_before(*at))
            .take_while(|at| *at >= from)
            .collect();
        back.reverse();
        assert_eq!(show(&back), show(&brute), "backward {case:?}");
    }
}

/// The promise of the default rule, without a second matcher: a job on the clock runs once on each date, all years long.
#[test]
fn by_default_a_daily_job_runs_exactly_once_each_day() {
    let days = date(2041, 1, 1).since((jiff::Unit::Day, date(2020, 1, 1))).unwrap().get_days() as usize;
    for name in ZONES {
        for half_hour in (0..8).chain([24, 47]) {
            let text = format!("{} {} * * *", half_hour % 2 * 30, half_hour / 2);
            let schedule = Schedule::new(CronDialect::Unix, &text, name, DstRule::default()).unwrap();
            let tz = schedule.zone.tz();
            let from = date(2020, 1, 1).to_zoned(tz.clone()).unwrap().timestamp().as_microsecond();
            let mut wanted = date(2020, 1, 1);
            let mut seen = 0;
            for fire in std::iter::successors(schedule.next_after(from - 1), |at| schedule.next_after(*at)).take(days) {
                assert_eq!(
                    tz.to_datetime(Timestamp::from_microsecond(fire).unwrap()).date(),
                    wanted,
                    "{text} in {name}"
                );
                wanted = wanted.tomorrow().unwrap();
                seen += 1;
            }
            assert_eq!(seen, days, "{text} in {name}");
        }
    }
}

#[test]
fn zones_are_found_by_name_and_misspellings_are_helped() {
    assert_eq!(Zone::named("asia/shanghai").unwrap().name(), "Asia/Shanghai");
    assert_eq!(Zone::named("Etc/UTC").unwrap().name(), "Etc/UTC");
    let told = |name: &str| Zone::named(name).unwrap_err().to_string();
    expect!["no time zone is called 'Asia/Shanghia'; did you mean Asia/Shanghai?"].assert_eq(&told("Asia/Shanghia"));
    expect!["no time zone is called 'GMT+8'; use a name such as Asia/Shanghai, Europe/Berlin or UTC"]
        .assert_eq(&told("GMT+8"));
    expect!["no time zone is called ''; use a name such as Asia/Shanghai, Europe/Berlin or UTC"].assert_eq(&told(""));
    assert!(tzdata_version().starts_with("20"), "{}", tzdata_version());
}

#[test]
fn nothing_fires_before_1970_or_after_2299() {
    let schedule = Schedule::new(CronDialect::Quartz, "0 0 0 1 1 ?", "Asia/Shanghai", DstRule::default()).unwrap();
    let at = |text: &str| text.parse::<Timestamp>().unwrap().as_microsecond();
    assert_eq!(schedule.next_after(i64::MIN), Some(at("1969-12-31T16:00:00Z")));
    assert_eq!(schedule.prev_before(at("1969-12-31T16:00:00Z")), None);
    assert_eq!(schedule.prev_before(i64::MIN), None);
    assert_eq!(schedule.prev_before(i64::MAX), Some(at("2298-12-31T16:00:00Z")));
    assert_eq!(schedule.next_after(at("2298-12-31T16:00:00Z")), None);
    assert_eq!(schedule.next_after(i64::MAX), None);
}
