//! Says which attempts may have printed something, by the kernel's word, so that a thousand silent tasks cost nothing.
//! Unsafe only to hand the watch's descriptor to the runtime, which must be told that it stays open.
#![allow(unsafe_code)]

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::path::Path;

use nix::errno::Errno;
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify, WatchDescriptor};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

pub(super) struct Files {
    inotify: AsyncFd<Handle>,
    attempts: HashMap<WatchDescriptor, i64>,
    watches: HashMap<i64, WatchDescriptor>,
}

struct Handle(Inotify);

impl AsRawFd for Handle {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_fd().as_raw_fd()
    }
}

impl Files {
    /// Must be called in a runtime.
    pub(super) fn new() -> io::Result<Files> {
        let inotify = Inotify::init(InitFlags::IN_CLOEXEC | InitFlags::IN_NONBLOCK)?;
        // SAFETY: the handle owns its descriptor, always answers with the same one, and is dropped after it is let go.
        let inotify = unsafe { AsyncFd::register_with_interest(Handle(inotify), Interest::READABLE) };
        let inotify = inotify.map_err(io::Error::from)?;
        Ok(Files { inotify, attempts: HashMap::new(), watches: HashMap::new() })
    }

    /// False when it cannot be watched and must be looked at instead.
    pub(super) fn watch(&mut self, attempt: i64, dir: &Path) -> bool {
        let Ok(watch) = self.inotify.get_ref().0.add_watch(dir, AddWatchFlags::IN_MODIFY) else { return false };
        self.attempts.insert(watch, attempt);
        self.watches.insert(attempt, watch);
        true
    }

    pub(super) fn forget(&mut self, attempt: i64) {
        if let Some(watch) = self.watches.remove(&attempt) {
            self.attempts.remove(&watch);
            // It goes by itself with its directory.
            let _ = self.inotify.get_ref().0.rm_watch(watch);
        }
    }

    /// The attempts in whose directories something was written; may name one more than once. Cancel-safe.
    pub(super) async fn written(&mut self) -> io::Result<Vec<i64>> {
        let mut ready = self.inotify.readable().await?;
        match ready.get_inner().0.read_events() {
            // So much happened that the kernel forgot what: it may have been anywhere.
            Ok(events) if events.iter().any(|event| event.mask.contains(AddWatchFlags::IN_Q_OVERFLOW)) => {
                Ok(self.watches.keys().copied().collect())
            }
            Ok(events) => Ok(events.iter().filter_map(|event| self.attempts.get(&event.wd).copied()).collect()),
            Err(Errno::EAGAIN) => {
                ready.clear_ready();
                Ok(Vec::new())
            }
            Err(errno) => Err(errno.into()),
        }
    }
}
