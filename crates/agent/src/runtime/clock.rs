//! Reads the clocks, so that nobody else has to.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use model::{Span, Timestamp};

use crate::session::Now;
use crate::shim::boot_micros;

pub(crate) fn now() -> Now {
    Now { wall: wall(), steady: steady() }
}

pub(crate) fn wall() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

/// The boot clock, because shims hold leashes by it.
pub(crate) fn steady() -> Timestamp {
    Timestamp(i64::try_from(boot_micros()).unwrap_or(i64::MAX))
}

pub(crate) fn until(steady_deadline: Timestamp) -> Duration {
    (steady_deadline - steady()).max(Span::ZERO).into()
}
