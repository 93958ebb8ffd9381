//! Notices the end of every watched shim, with one sleeping thread for all of them (and one that sweeps after shims that were killed). A shim that is our child is also
//! collected here. Never polls, and never tells an end twice.

use std::collections::HashMap;
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::wait::{Id, WaitPidFlag, waitid};

use super::Owned;
use super::conclude::{Ending, conclude, is_quick};

const LEAVE: u64 = 0;
const EVENTS_MAX: usize = 256;

/// Dropping it ends the watch; tasks run on and can be adopted.
pub struct Watcher {
    watched: Arc<Watched>,
    thread: Option<JoinHandle<()>>,
}

struct Watched {
    epoll: Epoll,
    leave: EventFd,
    next_key: AtomicU64,
    shims: Mutex<HashMap<u64, Owned>>,
    /// For ends that take a search for processes: no other end waits for them.
    slow: Mutex<Sender<Owned>>,
    tell: Tell,
}

type Tell = Arc<Mutex<dyn Fn(i64, Ending) + Send>>;

impl Watcher {
    /// `tell` is called once for each watched attempt, from a thread of ours; it should hand over and return.
    pub fn new(tell: impl Fn(i64, Ending) + Send + 'static) -> io::Result<Watcher> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let leave = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?;
        epoll.add(&leave, EpollEvent::new(EpollFlags::EPOLLIN, LEAVE))?;
        let tell: Tell = Arc::new(Mutex::new(tell));
        let (slow, ended) = mpsc::channel();
        thread::Builder::new().name("duly-sweeper".into()).spawn({
            let tell = tell.clone();
            move || ended.iter().for_each(|shim| report(&tell, &shim))
        })?;
        let watched = Arc::new(Watched {
            epoll,
            leave,
            next_key: AtomicU64::new(LEAVE + 1),
            shims: Mutex::default(),
            slow: Mutex::new(slow),
            tell,
        });
        let thread = thread::Builder::new().name("duly-watcher".into()).spawn({
            let watched = watched.clone();
            move || watched.run()
        })?;
        Ok(Watcher { watched, thread: Some(thread) })
    }

    pub fn watch(&self, shim: Owned) -> io::Result<()> {
        let Some(pidfd) = &shim.pidfd else {
            self.watched.report_slowly(shim);
            return Ok(());
        };
        let key = self.watched.next_key.fetch_add(1, Ordering::Relaxed);
        let event = EpollEvent::new(EpollFlags::EPOLLIN, key);
        // Under the lock: the end may be noticed before the table knows whose it is.
        let mut shims = held(&self.watched.shims);
        self.watched.epoll.add(pidfd, event)?;
        shims.insert(key, shim);
        Ok(())
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let _ = self.watched.leave.write(1);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Watched {
    fn run(&self) {
        let mut events = [EpollEvent::empty(); EVENTS_MAX];
        loop {
            let ready = match self.epoll.wait(&mut events, EpollTimeout::NONE) {
                Ok(ready) => ready,
                Err(Errno::EINTR) => continue,
                Err(errno) => panic!("an epoll of ours cannot be waited for: {errno}"),
            };
            for event in &events[..ready] {
                if event.data() == LEAVE {
                    return;
                }
                let shim = held(&self.shims).remove(&event.data());
                self.end(shim.expect("a shim is in the table for as long as its handle is watched"));
            }
        }
    }

    fn end(&self, shim: Owned) {
        if let Some(pidfd) = &shim.pidfd {
            // Closing is not enough: a process we are just starting elsewhere may hold a copy until it has become another.
            self.epoll.delete(pidfd).expect("a watched handle can be taken out");
            // Not our child when it was adopted: then somebody else collects it.
            let _ = waitid(Id::PIDFd(pidfd.as_fd()), WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG);
        }
        match is_quick(&shim.dir) {
            true => report(&self.tell, &shim),
            false => self.report_slowly(shim),
        }
    }

    fn report_slowly(&self, shim: Owned) {
        held(&self.slow).send(shim).expect("the sweeper lives for as long as we can send to it");
    }
}

fn report(tell: &Tell, shim: &Owned) {
    let ending = conclude(&shim.dir);
    held(tell)(shim.attempt, ending);
}

/// A panic elsewhere leaves nothing half done behind these locks.
fn held<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
