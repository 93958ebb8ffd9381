//! The life of one attempt: sign, start, watch, end, leave the result. One loop over signals, deadlines and output.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

use crate::claim::{Claim, Process};
use crate::clock::{Alarm, boot_micros, wall_micros};
use crate::ending::{Ending, Sight, Step};
use crate::log::Log;
use crate::order::ShimOrder;
use crate::printed::Printed;
use crate::result::{Exit, Reason, ShimResult};
use crate::secrets::Secrets;
use crate::stop::Stop;
use crate::sys::{self, Waited};
use crate::task::{self, Task};
use crate::tree::Tree;
use crate::{LEASH, LOG, ORDER, RESULT, SHIM, STOP, TASK_TAG, replace};

const RESULT_AGAIN: Duration = Duration::from_secs(1);

/// Runs the order in the current directory to its end. An error leaves no result: the agent finds us vanished.
pub(crate) fn run(order: ShimOrder, secrets: Option<Secrets>, boot: String) -> io::Result<()> {
    let tree = Tree::of_this_process(order.attempt, order.cgroup.as_deref())?;
    let shim = Process::of(std::process::id() as i32)?;
    let claim = Claim { attempt: order.attempt, boot, shim, cgroup: tree.cgroup().map(Path::to_owned) };
    sign(&claim)?;
    let mut owner = Owner::new(order, tree);
    if let Some(secrets) = &secrets {
        owner.printed.hide(secrets.masks());
    }
    // A stop that came before we could hear its signal.
    owner.look_for_stop();
    if owner.ending.reason.is_none() {
        owner.started_at = wall_micros();
        let door = owner.tree.door().map(AsFd::as_fd);
        match task::start(&owner.order, secrets.as_ref(), (TASK_TAG, &claim.tag()), door) {
            Ok(task) => {
                owner.tree.settle(task.in_cgroup);
                owner.watch(task)?;
            }
            Err(reason) => owner.ending.reason = Some(reason),
        }
    }
    owner.leave_result();
    Ok(())
}

/// The signature takes the place of the order. Nobody reads an order while we hold the lock.
fn sign(claim: &Claim) -> io::Result<()> {
    let (mut file, signature) = (OpenOptions::new().write(true).open(ORDER)?, claim.encode());
    file.write_all(&signature)?;
    // Cut afterwards and not emptied before: ext4 writes a file that was emptied to the disk when it is closed.
    file.set_len(signature.len() as u64)?;
    fs::rename(ORDER, SHIM)
}

struct Owner {
    order: ShimOrder,
    tree: Tree,
    printed: Printed,
    ending: Ending,
    exit: Option<Exit>,
    /// Nobody of the tree is left.
    alone: bool,
    started_at: i64,
    cpu_micros: u64,
    peak_kb: u64,
}

impl Owner {
    fn new(order: ShimOrder, tree: Tree) -> Owner {
        Owner {
            tree,
            printed: Printed::new(Log::at(LOG, order.log_bytes_max, order.log_lines_max)),
            ending: Ending::new(&order, boot_micros()),
            exit: None,
            alone: false,
            started_at: wall_micros(),
            cpu_micros: 0,
            peak_kb: 0,
            order,
        }
    }

    fn watch(&mut self, task: Task) -> io::Result<()> {
        let mut heard = SigSet::empty();
        [Signal::SIGCHLD, Signal::SIGTERM, Signal::SIGUSR1].into_iter().for_each(|signal| heard.add(signal));
        let signals = SignalFd::with_flags(&heard, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
        let mut alarm = Alarm::default();
        self.printed.listen(task.stdout, task.stderr)?;
        while self.take_steps() {
            alarm.set(self.ending.next_deadline())?;
            let ready = wait(&signals, &alarm, &self.printed)?;
            if ready.alarm {
                alarm.quiet();
            }
            self.printed.read(&ready.pipes);
            self.printed.release(boot_micros());
            if ready.signals {
                while let Some(signal) = signals.read_signal()? {
                    self.hear(signal.ssi_signo as i32, task.pid)?;
                }
            }
        }
        Ok(())
    }

    /// Does everything that is due; false when the attempt is over.
    fn take_steps(&mut self) -> bool {
        loop {
            let sight = Sight {
                now: boot_micros(),
                ended: self.exit.is_some(),
                alone: self.alone,
                silent: self.printed.at_end(),
            };
            match self.ending.step(sight, self.order.grace) {
                Step::Wait => return true,
                Step::Finish => return false,
                Step::Ask => self.tree.ask_to_end(),
                Step::Kill => self.tree.kill(),
                Step::ReadLeash => self.read_leash(sight.now),
            }
        }
    }

    fn read_leash(&mut self, now: u64) {
        let leash = fs::read_to_string(LEASH).ok().and_then(|text| text.trim().parse().ok());
        match leash.filter(|at| *at > now) {
            Some(at) => self.ending.leash_moved(at),
            None => self.end(Reason::Leash, self.order.grace),
        }
    }

    fn look_for_stop(&mut self) {
        if let Some(stop) = fs::read(STOP).ok().and_then(|file| Stop::decode(&file).ok()) {
            self.end(Reason::Stopped { by: stop.by }, stop.grace);
        }
    }

    fn end(&mut self, reason: Reason, grace: Duration) {
        // Its own end came first, even if we have not yet taken it in.
        if self.exit.is_none() && self.ending.request(reason, grace, boot_micros()) == Step::Ask {
            self.tree.ask_to_end();
        }
    }

    fn hear(&mut self, signal: i32, main: i32) -> io::Result<()> {
        match Signal::try_from(signal)? {
            Signal::SIGCHLD => self.reap(main)?,
            Signal::SIGUSR1 => self.look_for_stop(),
            _ => self.end(Reason::Stopped { by: "signal".into() }, self.order.grace),
        }
        Ok(())
    }

    fn reap(&mut self, main: i32) -> io::Result<()> {
        loop {
            match sys::wait_any()? {
                Waited::Ended { pid, exit, cpu_micros, peak_kb } => {
                    self.cpu_micros += cpu_micros;
                    self.peak_kb = self.peak_kb.max(peak_kb);
                    if pid == main {
                        self.exit = Some(exit);
                    }
                }
                Waited::StillRunning => return Ok(()),
                Waited::NoChildren => {
                    self.alone = true;
                    return Ok(());
                }
            }
        }
    }

    fn leave_result(mut self) {
        let ended_at = wall_micros();
        self.printed.finish(ended_at);
        let (cpu, peak) = self.tree.usage();
        let result = ShimResult {
            attempt: self.order.attempt,
            reason: self.ending.reason.unwrap_or(Reason::Exited),
            exit: self.exit,
            started_at: self.started_at,
            ended_at,
            cpu_micros: cpu.unwrap_or(self.cpu_micros),
            peak_kb: peak.unwrap_or(self.peak_kb),
            log_bytes: self.printed.log.kept,
            dropped_bytes: self.printed.log.dropped,
            outputs: self.printed.outputs.named,
            outputs_refused: self.printed.outputs.refused,
            message: self.printed.outputs.message,
        };
        self.tree.remove();
        let file = result.encode();
        // A full disk is emptied some day, and then the result is wanted; a directory taken away wants none.
        while let Err(error) = replace(RESULT.as_ref(), &file)
            && error.kind() != io::ErrorKind::NotFound
        {
            std::thread::sleep(RESULT_AGAIN);
        }
    }
}

struct Ready {
    signals: bool,
    alarm: bool,
    /// In the order of [`Printed::open`].
    pipes: Vec<bool>,
}

/// Waits for a signal, the alarm or output; tells which.
fn wait(signals: &SignalFd, alarm: &Alarm, printed: &Printed) -> io::Result<Ready> {
    let pipes = printed.open().map(AsFd::as_fd);
    let mut fds: Vec<PollFd> = [signals.as_fd()]
        .into_iter()
        .chain(pipes)
        .chain(alarm.as_fd())
        .map(|fd| PollFd::new(fd, PollFlags::POLLIN))
        .collect();
    let patience = printed.patience(boot_micros());
    match poll(&mut fds, patience.map_or(PollTimeout::NONE, PollTimeout::from)) {
        Ok(_) | Err(Errno::EINTR) => {}
        Err(errno) => return Err(errno.into()),
    }
    let mut ready = fds.iter().map(|fd| fd.any().unwrap_or(false));
    Ok(Ready {
        signals: ready.next().unwrap_or(false),
        pipes: ready.by_ref().take(printed.open().count()).collect(),
        alarm: ready.next().unwrap_or(false),
    })
}
