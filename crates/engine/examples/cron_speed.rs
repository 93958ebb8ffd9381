//! Prints how long one next fire takes, by pattern and zone. `cargo run --release -p duly-engine --example cron_speed`

use std::hint::black_box;
use std::time::Instant;

use duly_engine::cron::{Pattern, Schedule, ZoneCache};
use model::{CronDialect, DstRule};

const ROUNDS: i64 = 2_000_000;
const START: i64 = 1_794_709_230_000_000;

fn main() {
    let patterns = [
        ("every second", "* * * * * ?"),
        ("every minute", "0 * * * * ?"),
        ("daily 03:30", "0 30 3 * * ?"),
        ("weekdays 9-17", "0 0 9-17 ? * MON-FRI"),
        ("monthly 1st", "0 0 0 1 * ?"),
        ("last workday", "0 0 18 LW * ?"),
        ("Feb 29", "0 0 0 29 2 ?"),
    ];
    println!("{:<16}{:>10}{:>14}{:>14}{:>10}", "ns per next", "UTC", "New York", "NY, cached", "NY quartz");
    for (name, text) in patterns {
        print!("{name:<16}");
        let schedule = |zone, dst| Schedule::new(CronDialect::Quartz, text, zone, dst).expect("the pattern is good");
        let mut cache = ZoneCache::default();
        let new_york = schedule("America/New_York", DstRule::default());
        let utc = schedule("UTC", DstRule::default());
        print!("{:>10.1}", time(|t| utc.next_after(t)));
        print!("{:>14.1}", time(|t| new_york.next_after(t)));
        print!("{:>14.1}", time(|t| new_york.next_after_cached(t, &mut cache)));
        let quartz = schedule("America/New_York", DstRule::Quartz);
        println!("{:>10.1}", time(|t| quartz.next_after(t)));
    }
    let parse = time(|_| Pattern::parse(CronDialect::Quartz, black_box("0 0/15 9-17 ? * MON-FRI")).ok().map(|_| 0));
    println!("{:<16}{parse:>10.1}\npattern {} bytes", "parse", size_of::<Pattern>());
}

/// Nanoseconds per call, over instants spread across some years.
fn time(mut next: impl FnMut(i64) -> Option<i64>) -> f64 {
    let began = Instant::now();
    for round in 0..ROUNDS {
        black_box(next(black_box(START + round % 1000 * 86_399_123_456)));
    }
    began.elapsed().as_nanos() as f64 / ROUNDS as f64
}
