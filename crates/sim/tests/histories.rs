//! Simulated histories with fixed seeds. A failure prints the seed that repeats it: `DULY_SEED=n cargo test -p duly-sim`.

use duly_sim::{Faults, Mutant, Scenario, run};

fn seeds(count: u64) -> Vec<u64> {
    match std::env::var("DULY_SEED").ok().and_then(|seed| seed.parse().ok()) {
        Some(seed) => vec![seed],
        None => (1..=count).collect(),
    }
}

fn live_through(scenarios: impl IntoIterator<Item = Scenario>) -> u64 {
    let mut fires = 0;
    for scenario in scenarios {
        match run(scenario) {
            Ok(outcome) => fires += outcome.fires,
            Err(failure) => panic!("{failure}"),
        }
    }
    fires
}

#[test]
fn ring_one_two_million_fires_through_a_failing_store() {
    let fires = live_through(seeds(16).into_iter().map(|seed| Scenario { seconds: 700, ..Scenario::ring_one(seed) }));
    println!("{fires} fires");
    assert!(fires >= 2_000_000 || std::env::var("DULY_SEED").is_ok(), "{fires} fires");
}

#[test]
fn ring_two_real_sessions_over_streams_that_break() {
    let fires = live_through(seeds(40).into_iter().map(Scenario::ring_two));
    println!("{fires} fires");
}

/// An order that waited for a stalled store started after its agent had been believed without it; an instance stopped
/// ahead of its time was run after all; the store took the shard from everyone just as a zombie woke.
#[test]
fn histories_that_once_went_wrong() {
    let seeds = [
        1794797124126366189,
        1794797638788199861,
        1794797625306818334,
        1794797671564857392,
        1794797583816456919,
        1794797904863453442,
        1794797592265199826,
    ];
    live_through(seeds.into_iter().map(Scenario::ring_two));
}

#[test]
fn a_quiet_world_loses_nothing_either() {
    live_through([Scenario { faults: Faults::default(), ..Scenario::ring_two(7) }]);
}

/// The checker must notice each planted bug within a few histories, or it proves nothing.
fn is_caught(mutant: Mutant) {
    let faults = Faults { zombie: 10, ..Faults::usual() };
    let caught = (1..=300).any(|seed| {
        run(Scenario { mutant: Some(mutant), faults, ..Scenario::ring_two(seed) })
            .inspect_err(|failure| println!("{failure}"))
            .is_err()
    });
    assert!(caught, "{mutant:?} went unnoticed");
}

#[test]
fn a_store_without_a_term_check_is_caught() {
    is_caught(Mutant::NoTermCheck);
}

#[test]
fn an_acknowledgement_before_its_commit_is_caught() {
    is_caught(Mutant::AcknowledgeBeforeCommit);
}

#[test]
fn an_ignored_fence_is_caught() {
    is_caught(Mutant::FenceIgnored);
}
