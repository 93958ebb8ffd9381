//! Simulated histories of several servers, with fixed seeds. A failure prints the seed that repeats it.

use duly_sim::Promise;
use duly_sim::cluster::{Misfortunes, Mutant, Scenario, run};

fn seeds(count: u64) -> Vec<u64> {
    match std::env::var("DULY_SEED").ok().and_then(|seed| seed.parse().ok()) {
        Some(seed) => vec![seed],
        None => (1..=count).collect(),
    }
}

#[test]
fn a_quiet_cluster_loses_nothing() {
    let quiet = Scenario { misfortunes: Misfortunes::NONE, ..Scenario::ring_three(7) };
    let outcome = run(quiet).unwrap_or_else(|failure| panic!("{failure}"));
    assert!(outcome.fires > 500 && outcome.misfortunes == 0, "{outcome:?}");
}

#[test]
fn ring_three_servers_that_lose_each_other() {
    let (mut fires, mut takeovers) = (0, 0);
    for seed in seeds(40) {
        let outcome = run(Scenario::ring_three(seed)).unwrap_or_else(|failure| panic!("{failure}"));
        (fires, takeovers) = (fires + outcome.fires, takeovers + outcome.takeovers);
    }
    println!("{fires} fires, {takeovers} take-overs");
}

#[test]
fn jobs_that_share_have_their_turn_whatever_happens() {
    for seed in seeds(40) {
        run(Scenario::sharing(seed)).unwrap_or_else(|failure| panic!("{failure}"));
    }
}

/// A machine restarted and lost what it had not written; its agent said so for a while, but nobody owned the shard then. The
/// next owner took what the agent did not have for never started, and it ran twice.
#[test]
fn a_restart_that_nobody_heard_of_is_no_proof_that_nothing_ran() {
    run(Scenario::ring_three(1_794_823_481_477_316_848)).unwrap_or_else(|failure| panic!("{failure}"));
}

/// An order that was overtaken within its own batch was sent when the answer to that
/// batch was lost.
#[test]
fn an_order_that_was_overtaken_within_its_batch_is_not_sent() {
    run(Scenario::sharing(1_794_829_918_686_305_791)).unwrap_or_else(|failure| panic!("{failure}"));
}

/// What an agent held was said before its shard was loaded again, and taken for its answer to the greeting after: a run was
/// ordered, and when the real answer came it was not in it and counted as lost.
#[test]
fn what_an_agent_said_before_a_load_is_no_answer_to_the_greeting_after() {
    run(Scenario::sharing(1_794_831_016_892_999_382)).unwrap_or_else(|failure| panic!("{failure}"));
}

/// A shard that had had no turn for fifteen seconds counted an agent's silence from before them, with fifteen seconds of its
/// heartbeats unread; they had been answered, so that the agent let the task run on.
#[test]
fn who_was_not_listened_to_was_not_silent() {
    run(Scenario::ring_three(1_794_860_868_598_769_047)).unwrap_or_else(|failure| panic!("{failure}"));
}

/// The checker must notice each planted bug within a few histories, or it proves nothing.
fn is_caught(mutant: Mutant, broken: &[Promise]) {
    is_caught_among(Misfortunes::usual(), mutant, broken);
}

fn is_caught_among(misfortunes: Misfortunes, mutant: Mutant, broken: &[Promise]) {
    is_caught_in(|seed| Scenario { misfortunes, ..Scenario::ring_three(seed) }, mutant, broken);
}

fn is_caught_in(scenario: impl Fn(u64) -> Scenario, mutant: Mutant, broken: &[Promise]) {
    for seed in 1..=200 {
        if let Err(failure) = run(Scenario { mutant: Some(mutant), ..scenario(seed) }) {
            println!("{failure}");
            let promise = failure.broken.promise;
            assert!(broken.contains(&promise), "{mutant:?} broke another promise than expected: {failure}");
            return;
        }
    }
    panic!("{mutant:?} went unnoticed");
}

#[test]
fn a_server_that_never_looks_at_its_lease_is_caught() {
    is_caught(Mutant::LeaseCheckRemoved, &[Promise::OneOwner]);
}

#[test]
fn a_server_that_does_not_look_again_before_it_releases_is_caught() {
    is_caught(Mutant::ReleasedUnlooked, &[Promise::OneOwner]);
}

/// Shards are handed on all the time, and the store is slow: of the usual histories few get to what can happen then.
const MOVES: Misfortunes = Misfortunes { drain: 1, slow_calls: 4, ..Misfortunes::NONE };

/// A server that had stood still renewed its leases before its shards looked at them, and they went on with what another had
/// by then.
#[test]
fn a_renewal_that_comes_too_late_and_counts_is_caught() {
    is_caught(Mutant::GapForgotten, &[Promise::OneOwner]);
}

/// A server that left found that a shard it had just let go was its own and not run, and took it again.
#[test]
fn a_server_that_leaves_in_half_is_caught() {
    is_caught(Mutant::LeavesInHalf, &[Promise::OneOwner]);
}

/// A server had handed a shard on while it waited for a picture in which it still had it, and took it again.
#[test]
fn a_picture_from_before_a_hand_over_is_caught() {
    is_caught_among(MOVES, Mutant::StalePicture, &[Promise::OneOwner]);
}

/// A server whose clock was ahead started something and handed its shard on; by the successor's clock it was still to come.
#[test]
fn a_clock_ahead_of_the_stores_is_caught() {
    is_caught_among(
        MOVES,
        Mutant::ClockAhead,
        &[Promise::DurableBeforeAcknowledged, Promise::StartedOnce, Promise::OneEnding],
    );
}

#[test]
fn a_successor_that_does_not_wait_is_caught() {
    is_caught(Mutant::SuccessorDoesNotWait, &[Promise::OneOwner]);
}

#[test]
fn a_store_that_takes_commits_of_any_term_is_caught() {
    is_caught(Mutant::TermNotChecked, &[Promise::OneOwner, Promise::OneEnding]);
}

#[test]
fn an_acknowledgement_before_its_commit_is_caught() {
    is_caught(Mutant::AcknowledgeBeforeCommit, &[Promise::DurableBeforeAcknowledged]);
}

#[test]
fn an_order_before_its_commit_is_caught() {
    is_caught(Mutant::OrderBeforeCommit, &[Promise::DurableBeforeSent]);
}

/// An agent that takes anybody for the owner runs what has been given to another, or tells its results to nobody.
const WITHOUT_A_FENCE: [Promise; 4] =
    [Promise::StartedOnce, Promise::Exclusive, Promise::TrueResults, Promise::ComesToItsEnd];

#[test]
fn an_agent_that_ignores_terms_is_caught() {
    is_caught(Mutant::FenceIgnored, &WITHOUT_A_FENCE);
}

#[test]
fn an_agent_that_takes_orders_at_any_time_is_caught() {
    is_caught(Mutant::LateOrderAccepted, &WITHOUT_A_FENCE);
}

/// A person's stop was the one way out on which nothing was given back: those behind waited for ever.
#[test]
fn what_is_not_given_back_is_noticed() {
    is_caught_in(
        Scenario::sharing,
        Mutant::ReturnForgotten,
        &[Promise::ComesToItsEnd, Promise::GivenBack, Promise::OneEnding],
    );
}

/// Given back when the stop is asked for, not when the task has ended.
#[test]
fn what_is_given_back_while_it_is_used_is_noticed() {
    is_caught_in(Scenario::sharing, Mutant::ReturnedWhenAsked, &[Promise::Shared, Promise::ComesToItsEnd]);
}

#[test]
fn a_line_that_lets_everybody_in_is_noticed() {
    is_caught_in(Scenario::sharing, Mutant::LetInWithout, &[Promise::Shared]);
}
