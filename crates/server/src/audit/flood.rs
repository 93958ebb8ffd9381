//! Keeps a flood of refused attempts from filling the disk: so many a minute from one address are written one by one, the
//! rest is counted. Whoever is known is counted apart, so that no stranger's flood hides what they try.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};

use model::{Span, Timestamp};

/// Refusals a minute that are written: of one address, and of somebody who is known there.
const OF_ONE: [u64; 2] = [10, 60];
/// And of all strangers, and all who are known.
const OF_ALL: [u64; 2] = [100, 600];
/// Addresses that are counted apart.
const COUNTED_MAX: usize = 200;

type Key = (Option<String>, Option<String>);

#[derive(Default)]
pub(super) struct Flood {
    minute: i64,
    /// Refusals of this minute: of strangers, and of those who are known.
    by_key: [BTreeMap<Key, u64>; 2],
    written: [u64; 2],
    counted: [BTreeMap<Key, u64>; 2],
    /// The minute in which the first of them was counted.
    counted_in: i64,
}

/// Refusals of one minute that were not written one by one.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Counted {
    /// None: of several addresses.
    pub(super) from: Option<String>,
    pub(super) who: Option<String>,
    pub(super) count: u64,
}

impl Flood {
    /// Whether it is to be written.
    pub(super) fn admit(&mut self, from: Option<IpAddr>, who: Option<&str>, now: Timestamp) -> bool {
        let minute = minute(now);
        if minute != self.minute {
            self.minute = minute;
            self.by_key = Default::default();
            self.written = [0; 2];
        }
        let key = (from.map(network), who.map(String::from));
        let known = usize::from(who.is_some());
        let of_one = count(&mut self.by_key[known], &key);
        if of_one <= OF_ONE[known] && self.written[known] < OF_ALL[known] {
            self.written[known] += 1;
            return true;
        }
        if self.counted.iter().all(BTreeMap::is_empty) {
            self.counted_in = minute;
        }
        count(&mut self.counted[known], &key);
        false
    }

    /// What was counted, if the minute it was counted in is over.
    pub(super) fn turn(&mut self, now: Timestamp) -> Vec<Counted> {
        if minute(now) == self.counted_in {
            return Vec::new();
        }
        let counted = std::mem::take(&mut self.counted);
        counted.into_iter().flatten().map(|((from, who), count)| Counted { from, who, count }).collect()
    }
}

/// One more of a key, or of all those for which there is no room.
fn count(counts: &mut BTreeMap<Key, u64>, key: &Key) -> u64 {
    let room = counts.len() < COUNTED_MAX || counts.contains_key(key);
    let count = counts.entry(if room { key.clone() } else { (None, None) }).or_default();
    *count += 1;
    *count
}

fn minute(now: Timestamp) -> i64 {
    now.0.div_euclid(Span::MINUTE.0)
}

/// Whoever has one address of version 6 has all of its network.
fn network(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            format!("{}/64", Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_secs(seconds)
    }

    fn v4(last: u8) -> Option<IpAddr> {
        Some([10, 0, 0, last].into())
    }

    #[test]
    fn a_flood_is_counted_and_told_when_its_minute_is_over() {
        let mut flood = Flood::default();
        let written = (0..50).filter(|_| flood.admit(v4(1), None, at(5))).count();
        assert_eq!(written as u64, OF_ONE[0]);
        assert_eq!(flood.turn(at(59)), []);
        let told = flood.turn(at(60));
        assert_eq!(told, [Counted { from: Some("10.0.0.1".into()), who: None, count: 40 }]);
        assert_eq!(flood.turn(at(61)), []);
        assert!(flood.admit(v4(1), None, at(61)), "the next minute begins anew");
    }

    #[test]
    fn what_was_counted_is_told_although_the_next_minute_has_its_own() {
        let mut flood = Flood::default();
        assert_eq!((0..12).filter(|_| flood.admit(v4(1), None, at(5))).count(), 10);
        flood.admit(v4(1), None, at(65));
        assert_eq!(flood.turn(at(66))[0].count, 2);
    }

    #[test]
    fn a_strangers_flood_hides_nobody_who_is_known() {
        let mut flood = Flood::default();
        for last in 0..=255 {
            assert!((0..20).filter(|_| flood.admit(v4(last), None, at(5))).count() <= 10);
        }
        assert!(flood.admit(v4(1), Some("ann"), at(5)));
        assert!(!flood.admit(v4(77), None, at(5)), "all strangers together have their bound");
        let told = flood.turn(at(60));
        assert_eq!(told.iter().map(|one| one.count).sum::<u64>(), 256 * 20 + 1 - OF_ALL[0]);
        assert!(told.len() <= COUNTED_MAX + 1);
    }

    #[test]
    fn a_network_of_version_six_counts_as_one() {
        let mut flood = Flood::default();
        let of = |last: u16| Some(IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 7, 0, 0, 0, last)));
        let written = (0..50).filter(|last| flood.admit(of(*last), None, at(5))).count();
        assert_eq!(written as u64, OF_ONE[0]);
        assert_eq!(flood.turn(at(60))[0].from.as_deref(), Some("2001:db8:0:7::/64"));
    }
}
