//! How fast passwords may be tried: a rule over what the store remembers, so that every server of a cluster counts the
//! same tries. Never says whether a name exists.
//!
//! Three brakes. For a name from one address each try after the first five doubles the wait. For a name from all addresses
//! together, twenty wrong ones close it for a quarter of an hour, except to addresses from which its owner has signed in
//! lately: so a stranger with many addresses gets nowhere, and cannot keep the owner out either. From one address a hundred
//! wrong ones for whatever names are looked at, then one every nine seconds; whoever has signed in from there lately is not
//! concerned: so one password is not tried on everybody, and an office behind one address does not lock itself out.

use std::net::IpAddr;

use model::{Span, Timestamp};
use store::people::{Counting, Tries, TriesOf};

use crate::secret;

/// Tries that cost nothing but themselves; each one after them doubles the wait.
const FREE_TRIES: u32 = 5;
const WAIT_MAX: Span = Span::SECOND.saturating_mul(300);
/// From all addresses together.
const NAME_TRIES: u32 = 20;
const NAME_CLOSED: Span = Span::MINUTE.saturating_mul(15);
/// From one address for whatever names, before they are looked at one by one.
const ADDRESS_TRIES: u32 = 100;
const ADDRESS_PACE: Span = Span::SECOND.saturating_mul(9);
/// Wrong tries older than this count no more.
const FORGET_AFTER: Span = Span::MINUTE.saturating_mul(15);
/// An address is known for this long after a sign-in that went well.
const KNOWN_FOR: Span = Span::DAY.saturating_mul(30);

/// How long to wait before another try is looked at, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wait {
    pub(crate) left: Span,
    pub(crate) why: &'static str,
}

/// None: it may be looked at.
pub(crate) fn wait(tries: &Tries, now: Timestamp) -> Option<Wait> {
    let here = left(&tries.here, pause(tries.here.failed), now);
    let known = tries.here.succeeded_at.is_some_and(|at| at + KNOWN_FOR > now);
    let closed = !known && tries.everywhere.failed >= NAME_TRIES;
    let everywhere = if closed { left(&tries.everywhere, NAME_CLOSED, now) } else { Span::ZERO };
    let of_name = Wait { left: here.max(everywhere), why: "too many wrong passwords for this name" };
    let left = if known { Span::ZERO } else { until_one_runs_off(&tries.anybody, now) };
    let of_address = Wait { left, why: "too many wrong passwords from this address" };
    [of_name, of_address].into_iter().find(|wait| wait.left > Span::ZERO)
}

fn until_one_runs_off(anybody: &TriesOf, now: Timestamp) -> Span {
    let over = anybody.failed.saturating_sub(ADDRESS_TRIES - 1);
    Span((anybody.failed_at + ADDRESS_PACE.saturating_mul(i64::from(over))).0 - now.0).max(Span::ZERO)
}

/// How a wrong try adds to those before it.
pub(crate) fn counting(now: Timestamp) -> Counting {
    Counting { since: now - FORGET_AFTER, one_runs_off: ADDRESS_PACE }
}

/// Closed from everywhere but where its owner is known.
pub(crate) fn closed_until(everywhere: &TriesOf, now: Timestamp) -> Option<Timestamp> {
    let until = everywhere.failed_at + NAME_CLOSED;
    (everywhere.failed >= NAME_TRIES && until > now).then_some(until)
}

fn left(tries: &TriesOf, wait: Span, now: Timestamp) -> Span {
    if tries.failed == 0 || tries.failed_at + FORGET_AFTER <= now {
        return Span::ZERO;
    }
    Span((tries.failed_at + wait).0 - now.0).max(Span::ZERO)
}

fn pause(failed: u32) -> Span {
    match failed.checked_sub(FREE_TRIES) {
        None => Span::ZERO,
        Some(more) => Span::SECOND.saturating_mul(1 << more.min(9)).min(WAIT_MAX),
    }
}

/// What tries are counted under. Whoever has one address of the new kind has 2^64 of them.
pub(crate) fn address(from: IpAddr) -> String {
    match from.to_canonical() {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            format!("{a:x}:{b:x}:{c:x}:{d:x}::/64")
        }
    }
}

/// A name as it is counted. What cannot be anybody's name is counted all the same, but not kept as it came.
pub(crate) fn name(typed: &str) -> String {
    if crate::setup::is_name(typed) {
        return typed.to_owned();
    }
    let hash = secret::hash(typed);
    format!("#{}", hash[..8].iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: i64) -> Timestamp {
        Timestamp::from_secs(secs)
    }

    fn tries(failed: u32, secs: i64) -> TriesOf {
        TriesOf { failed, failed_at: at(secs), succeeded_at: None }
    }

    fn span(tries: &Tries, now: i64) -> Span {
        wait(tries, at(now)).map_or(Span::ZERO, |wait| wait.left)
    }

    #[test]
    fn one_password_for_many_names_is_slowed_but_not_for_those_who_are_known_there() {
        let sprayed = |failed| Tries { anybody: tries(failed, 1_000), ..Tries::default() };
        let seconds = |failed, now| span(&sprayed(failed), now).0 / Span::SECOND.0;
        assert_eq!([0, 99, 100, 103].map(|failed| seconds(failed, 1_000)), [0, 0, 9, 36]);
        assert_eq!((seconds(100, 1_004), seconds(100, 1_009)), (5, 0), "one runs off");
        assert_eq!(wait(&sprayed(100), at(1_000)).unwrap().why, "too many wrong passwords from this address");
        let known = TriesOf { succeeded_at: Some(at(10)), ..TriesOf::default() };
        assert_eq!(span(&Tries { here: known, ..sprayed(5_000) }, 1_000), Span::ZERO);
    }

    #[test]
    fn waits_double_up_to_a_bound_and_are_forgotten() {
        let seconds = |failed| {
            let tries = Tries { here: tries(failed, 1_000), ..Tries::default() };
            span(&tries, 1_000).0 / Span::SECOND.0
        };
        assert_eq!([0, 4, 5, 6, 7, 12, 13, 60].map(seconds), [0, 0, 1, 2, 4, 128, 256, 300]);
        let long_ago = Tries { here: tries(60, 0), everywhere: tries(60, 0), anybody: tries(60, 0) };
        assert_eq!(wait(&long_ago, at(900)), None);
    }

    #[test]
    fn many_addresses_close_a_name_for_a_while_but_not_to_its_owner() {
        let attacked = |here: TriesOf, failed| Tries { here, everywhere: tries(failed, 1_000), ..Tries::default() };
        assert_eq!(span(&attacked(TriesOf::default(), 19), 1_000), Span::ZERO);
        assert_eq!(span(&attacked(TriesOf::default(), 20), 1_000), NAME_CLOSED);
        assert_eq!(span(&attacked(TriesOf::default(), 20), 1_900), Span::ZERO, "it ends by itself");
        let known = TriesOf { succeeded_at: Some(at(10)), ..TriesOf::default() };
        assert_eq!(span(&attacked(known, 5_000), 1_000), Span::ZERO);
        // Who guesses from there waits as everybody does.
        assert_eq!(span(&attacked(TriesOf { succeeded_at: Some(at(10)), ..tries(7, 1_000) }, 7), 1_000).0, 4_000_000);
        let long_known = TriesOf { succeeded_at: Some(at(0)), ..TriesOf::default() };
        let later = 31 * 86_400;
        let attack = Tries { here: long_known, everywhere: tries(20, later), ..Tries::default() };
        assert_eq!(span(&attack, later), NAME_CLOSED);
        assert_eq!(closed_until(&tries(20, 1_000), at(1_500)), Some(at(1_900)));
        assert_eq!(closed_until(&tries(20, 1_000), at(1_900)), None);
    }

    #[test]
    fn neighbours_in_one_network_of_the_new_kind_are_one() {
        let counted = |text: &str| address(text.parse().unwrap());
        assert_eq!(counted("2001:db8:1:2:aaaa::1"), counted("2001:db8:1:2:bbbb::9"));
        assert_ne!(counted("2001:db8:1:2::1"), counted("2001:db8:1:3::1"));
        assert_eq!(counted("::ffff:10.0.0.1"), "10.0.0.1");
    }

    #[test]
    fn a_name_that_is_none_is_not_kept_as_it_came() {
        assert_eq!(name("ann"), "ann");
        assert!(name("ann\0").starts_with('#') && name(&"x".repeat(5_000)).len() < 20);
        assert_ne!(name("a b"), name("a c"));
    }
}
