//! Any number of fresh seeds: `make soak`.

use duly_sim::{Scenario, cluster, run};

fn count(by_default: u64) -> u64 {
    std::env::var("DULY_HISTORIES").ok().and_then(|n| n.parse().ok()).unwrap_or(by_default)
}

fn fresh() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970").as_nanos() as u64
}

#[test]
#[ignore = "takes long: run by make soak"]
fn a_thousand_fresh_histories() {
    let start = fresh();
    for n in 0..count(1_000) {
        let seed = start.wrapping_add(n);
        if let Err(failure) = run(Scenario::ring_two(seed)) {
            panic!("{failure}");
        }
        if n % 100 == 99 {
            println!("{} histories", n + 1);
        }
    }
}

#[test]
#[ignore = "takes long: run by make soak"]
fn ten_thousand_fresh_histories_of_several_servers() {
    let start = fresh();
    let (mut fires, mut takeovers) = (0, 0);
    for n in 0..count(10_000) {
        let seed = start.wrapping_add(n);
        let sharing = n % 4 == 3;
        let scenario = if sharing { cluster::Scenario::sharing(seed) } else { cluster::Scenario::ring_three(seed) };
        match cluster::run(scenario) {
            Ok(outcome) => (fires, takeovers) = (fires + outcome.fires, takeovers + outcome.takeovers),
            Err(failure) => panic!("{failure}"),
        }
        if n % 500 == 499 {
            println!("{} histories: {fires} fires, {takeovers} take-overs", n + 1);
        }
    }
}
