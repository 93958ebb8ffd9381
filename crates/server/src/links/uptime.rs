//! For how long an agent's machine has run without a restart. What was ordered before that may have run there and left no
//! trace, whatever the agent knows of it now.

use std::time::{Duration, Instant};

use model::{Span, Timestamp};
use wire::link::Hello;

/// For so long after a restart nothing but the agent's word counts: the store's clock may have jumped meanwhile.
const NEWS_FOR: Duration = Duration::from_secs(60);

/// As the agent said in its hello. Counted by this machine's clock from then on: the server's may not follow the store's
/// yet when the agent speaks.
#[derive(Clone, Copy, Debug)]
pub struct Uptime {
    heard: Instant,
    /// None: it does not say.
    up: Option<Span>,
}

impl Uptime {
    pub fn of(hello: &Hello, heard: Instant) -> Uptime {
        let up = match hello.up_us {
            _ if hello.rebooted => Some(Span::ZERO),
            // A version that does not say: a restart is known only while it is news.
            0 => None,
            up => Some(Span(up.max(1))),
        };
        Uptime { heard, up }
    }

    /// The latest moment it can have started. Clocks may run apart by a hundredth each; what is in question is as a rule
    /// far younger than the machine, so that the allowance costs nothing.
    pub fn since(self, now: Timestamp, at: Instant) -> Timestamp {
        let Some(up) = self.up else { return Timestamp::MIN };
        let heard_ago = at.saturating_duration_since(self.heard);
        if up == Span::ZERO && heard_ago < NEWS_FOR {
            return Timestamp::MAX;
        }
        let up = up.0.saturating_add(Span::from(heard_ago).0);
        now - Span(up - up / 50) + Span::SECOND
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_taken_for_younger_than_it_says_and_never_for_older() {
        let (now, heard) = (Timestamp(1_000_000_000_000), Instant::now());
        let since = |rebooted: bool, up: Span, later: u64| {
            let hello = Hello { rebooted, up_us: up.0, ..Hello::default() };
            Uptime::of(&hello, heard).since(now, heard + Duration::from_secs(later))
        };
        assert_eq!(since(false, Span::ZERO, 5), Timestamp::MIN, "an older agent does not say");
        assert_eq!(since(false, Span::secs(100), 0), now - Span::secs(97));
        assert_eq!(since(false, Span::secs(50), 50), now - Span::secs(97));
        assert_eq!(since(true, Span::secs(500), 59), Timestamp::MAX, "it says that it restarted");
        assert_eq!(since(true, Span::secs(500), 100), now - Span::secs(97), "and that is some time ago");
        for nonsense in [i64::MIN, -1, i64::MAX] {
            assert!(since(false, Span(nonsense), 0) <= now + Span::SECOND);
        }
    }
}
