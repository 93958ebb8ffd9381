//! How long to wait before the next try: longer each time, and never in step with other agents.

use std::time::{Duration, Instant};

const FIRST: Duration = Duration::from_millis(50);
/// A connection that held this long was a good one.
const GOOD: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(crate) struct Backoff {
    next: Duration,
    longest: Duration,
    open_since: Option<Instant>,
}

impl Backoff {
    pub(crate) fn new(longest: Duration) -> Backoff {
        Backoff { next: FIRST.min(longest), longest, open_since: None }
    }

    pub(crate) fn opened(&mut self) {
        self.open_since = Some(Instant::now());
    }

    /// The pause after a failure: between a half and the whole of the step.
    pub(crate) fn pause(&mut self) -> Duration {
        if self.open_since.take().is_some_and(|since| since.elapsed() >= GOOD) {
            self.next = FIRST.min(self.longest);
        }
        let step = self.next;
        self.next = (step * 2).min(self.longest);
        let mut random = [0; 2];
        // Without randomness agents are in step, which is only slower.
        let _ = getrandom::fill(&mut random);
        step / 2 + (step / 2).mul_f64(f64::from(u16::from_le_bytes(random)) / f64::from(u16::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_the_longest() {
        let mut backoff = Backoff::new(Duration::from_millis(300));
        for step in [50, 100, 200, 300, 300].map(Duration::from_millis) {
            let pause = backoff.pause();
            assert!(pause >= step / 2 && pause <= step, "{pause:?} of {step:?}");
        }
    }

    #[test]
    fn a_connection_that_fails_at_once_is_no_success() {
        let mut backoff = Backoff::new(Duration::from_secs(2));
        backoff.pause();
        backoff.opened();
        assert!(backoff.pause() >= Duration::from_millis(50));
    }
}
