//! Two clocks: the boot clock for deadlines, because it never jumps and counts on while the machine sleeps, and the
//! wall clock for people.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use nix::sys::time::{TimeSpec, TimeValLike};
use nix::sys::timerfd::{ClockId as TimerClock, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use nix::time::{ClockId, clock_gettime};

/// Microseconds of the boot clock: the unit of every deadline between an agent and its shims.
pub fn boot_micros() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_BOOTTIME).expect("Linux has a boot clock");
    now.tv_sec() as u64 * 1_000_000 + now.tv_nsec() as u64 / 1_000
}

/// Microseconds since 1970, UTC.
pub(crate) fn wall_micros() -> i64 {
    let now = clock_gettime(ClockId::CLOCK_REALTIME).expect("Linux has a wall clock");
    now.tv_sec() * 1_000_000 + now.tv_nsec() / 1_000
}

/// Readable from the next deadline on. A task without one needs no timer.
#[derive(Default)]
pub(crate) struct Alarm {
    timer: Option<TimerFd>,
    set_for: Option<u64>,
}

impl Alarm {
    pub(crate) fn set(&mut self, deadline: Option<u64>) -> io::Result<()> {
        if deadline == self.set_for {
            return Ok(());
        }
        match deadline {
            // Zero would switch the timer off.
            Some(at) => {
                let at = TimeSpec::microseconds(i64::try_from(at.max(1)).unwrap_or(i64::MAX));
                self.timer()?.set(Expiration::OneShot(at), TimerSetTimeFlags::TFD_TIMER_ABSTIME)?;
            }
            None => self.timer()?.unset()?,
        }
        self.set_for = deadline;
        Ok(())
    }

    /// To be called when it rang: the same deadline may be set again.
    pub(crate) fn quiet(&mut self) {
        self.set_for = None;
        let _ = self.timer.as_ref().map(TimerFd::unset);
    }

    /// What to wait for, once there was a deadline.
    pub(crate) fn as_fd(&self) -> Option<BorrowedFd<'_>> {
        self.timer.as_ref().map(AsFd::as_fd)
    }

    fn timer(&mut self) -> io::Result<&TimerFd> {
        if self.timer.is_none() {
            let flags = TimerFlags::TFD_CLOEXEC | TimerFlags::TFD_NONBLOCK;
            self.timer = Some(TimerFd::new(TimerClock::CLOCK_BOOTTIME, flags)?);
        }
        Ok(self.timer.as_ref().expect("it was made above"))
    }
}
