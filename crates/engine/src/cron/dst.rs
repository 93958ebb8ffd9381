//! Turns wall-clock matches into instants under a stated rule for the hours a zone skips or repeats.
//! Never decides what the rule is.

use model::{DstRule, Fold, Gap};

use super::pattern::Pattern;
use super::zone::{Window, Zone};

/// The rule as the search applies it to one pattern.
#[derive(Clone, Copy)]
struct Rule {
    gap_end: bool,
    first_pass: bool,
    second_pass: bool,
}

impl Rule {
    fn new(dst: DstRule, pattern: &Pattern) -> Rule {
        match dst {
            DstRule::Quartz => Rule { gap_end: false, first_pass: false, second_pass: true },
            DstRule::Policy { .. } if pattern.is_interval_like() => {
                Rule { gap_end: false, first_pass: true, second_pass: true }
            }
            DstRule::Policy { gap, fold } => Rule {
                gap_end: gap == Gap::AtGapEnd,
                first_pass: fold != Fold::Second,
                second_pass: fold != Fold::First,
            },
        }
    }
}

/// Room for any two offsets, so that a leap over quiet stretches lands safely before its target.
const MARGIN: i64 = 2 * super::civil::DAY;

/// One search for fires of a pattern in a zone.
pub(super) struct Search<'a> {
    pattern: &'a Pattern,
    zone: &'a Zone,
    rule: Rule,
}

impl<'a> Search<'a> {
    pub(super) fn new(pattern: &'a Pattern, zone: &'a Zone, dst: DstRule) -> Search<'a> {
        Search { pattern, zone, rule: Rule::new(dst, pattern) }
    }

    /// The first fire at or after `second`; `window` is the stretch that holds it.
    pub(super) fn next(&self, mut second: i64, mut window: Window) -> Option<i64> {
        loop {
            if second == window.from && self.fires_at_gap_end(&window) {
                return Some(second);
            }
            let wall = self.pattern.next_wall(second + i64::from(window.offset));
            if let Some(wall) = wall {
                let at = wall - i64::from(window.offset);
                if at < window.until {
                    if !self.rule.second_pass && window.in_second_pass(at) {
                        second = window.second_pass_end();
                    } else if !self.rule.first_pass && window.in_first_pass(at) {
                        (second, window) = (window.until, self.zone.window(window.until));
                    } else {
                        return Some(at);
                    }
                    continue;
                }
            }
            if window.until == i64::MAX {
                return None;
            }
            second = window.until;
            if window.after >= window.offset {
                // The walls up to the match are empty, and none of them comes again: go straight to its neighbourhood.
                second = second.max(wall? - MARGIN);
            }
            window = self.zone.window(second);
        }
    }

    /// The last fire at or before `second`.
    pub(super) fn prev(&self, mut second: i64, mut window: Window) -> Option<i64> {
        loop {
            let wall = self.pattern.prev_wall(second.saturating_add(i64::from(window.offset)));
            if let Some(wall) = wall {
                let at = wall - i64::from(window.offset);
                if at >= window.from {
                    if !self.rule.second_pass && window.in_second_pass(at) {
                        second = window.from - 1;
                    } else if !self.rule.first_pass && window.in_first_pass(at) {
                        second = window.first_pass_start() - 1;
                    } else {
                        return Some(at);
                    }
                    if second < window.from {
                        window = self.zone.window(second);
                    }
                    continue;
                }
            }
            if window.from == i64::MIN {
                return None;
            }
            if self.fires_at_gap_end(&window) {
                return Some(window.from);
            }
            second = window.from - 1;
            if window.before <= window.offset {
                second = second.min(wall? + MARGIN);
            }
            window = self.zone.window(second);
        }
    }

    /// Whether the gap that opened this stretch swallowed a fire that is due at its end.
    fn fires_at_gap_end(&self, window: &Window) -> bool {
        let (gap, end) =
            (window.from.saturating_add(window.before.into()), window.from.saturating_add(window.offset.into()));
        self.rule.gap_end && gap < end && self.pattern.next_wall(gap).is_some_and(|wall| wall < end)
    }
}

impl Window {
    fn second_pass_end(&self) -> i64 {
        self.from.saturating_add(i64::from(self.before - self.offset))
    }

    fn first_pass_start(&self) -> i64 {
        self.until - i64::from(self.offset - self.after)
    }

    /// The wall-clock time of `second` was already there before this stretch began.
    fn in_second_pass(&self, second: i64) -> bool {
        self.before > self.offset && second < self.second_pass_end()
    }

    /// The wall-clock time of `second` will come again after this stretch ends.
    fn in_first_pass(&self, second: i64) -> bool {
        self.after < self.offset && second >= self.first_pass_start()
    }
}
