//! Any number of fresh seeds: `make soak`.

use duly_sim::{Scenario, run};

#[test]
#[ignore = "takes long: run by make soak"]
fn a_thousand_fresh_histories() {
    let count: u64 = std::env::var("DULY_HISTORIES").ok().and_then(|n| n.parse().ok()).unwrap_or(1_000);
    let start =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970").as_nanos() as u64;
    for n in 0..count {
        let seed = start.wrapping_add(n);
        if let Err(failure) = run(Scenario::ring_two(seed)) {
            panic!("{failure}");
        }
        if n % 100 == 99 {
            println!("{} histories", n + 1);
        }
    }
}
