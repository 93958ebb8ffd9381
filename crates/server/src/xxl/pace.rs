//! How long executors are waited for. All in one place, because tests have less patience than users.

use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// An executor that has not registered again for this long is dead. They do so every 10 to 60 seconds.
    pub death: Duration,
    /// How long a result may be under way: executors keep what they could not deliver and try again twice a minute.
    pub guard: Duration,
    /// How often an executor is asked about what it has had for a while.
    pub ask_every: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Pace { death: Duration::from_secs(90), guard: Duration::from_secs(45), ask_every: Duration::from_secs(10) }
    }
}

impl Pace {
    /// With the shorter times a test asks for by `DULY_XXL_DEATH_MS` and `DULY_XXL_GUARD_MS`.
    pub fn from_env() -> Pace {
        let usual = Pace::default();
        let millis = |name: &str| std::env::var(name).ok()?.parse().ok().map(Duration::from_millis);
        let guard = millis("DULY_XXL_GUARD_MS").unwrap_or(usual.guard);
        Pace {
            death: millis("DULY_XXL_DEATH_MS").unwrap_or(usual.death),
            guard,
            ask_every: usual.ask_every.min(guard / 4).max(Duration::from_millis(100)),
        }
    }
}
