//! How an attempt ended, as the shim saw it. Its file appears whole or not at all, and exactly once.

use std::io;

use crate::record::{self, Writer};

const TITLE: &str = "duly-result 1";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShimResult {
    pub attempt: i64,
    pub reason: Reason,
    /// Of the task's first process; none when it never ran.
    pub exit: Option<Exit>,
    /// Microseconds since 1970, UTC.
    pub started_at: i64,
    pub ended_at: i64,
    /// User and system time of the whole tree.
    pub cpu_micros: u64,
    /// Of the tree where a cgroup counts it, else of its largest process.
    pub peak_kb: u64,
    pub log_bytes: u64,
    pub dropped_bytes: u64,
    pub outputs: Vec<(String, Vec<u8>)>,
    /// Output lines that broke a limit or the syntax, so that their loss can be shown.
    pub outputs_refused: u64,
    pub message: Option<Vec<u8>>,
}

/// Why the attempt ended. What the first process answered to it is in [`ShimResult::exit`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    Exited,
    Timeout,
    Stopped { by: String },
    Leash,
    SpawnFailed { errno: i32, text: String },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    Signal(i32),
}

impl ShimResult {
    pub fn encode(&self) -> Vec<u8> {
        let mut file = Writer::new(TITLE);
        file.number("attempt", self.attempt);
        match &self.reason {
            Reason::Exited => file.bytes("exited", b""),
            Reason::Timeout => file.bytes("timeout", b""),
            Reason::Stopped { by } => file.bytes("stopped", by.as_bytes()),
            Reason::Leash => file.bytes("leash", b""),
            Reason::SpawnFailed { errno, text } => {
                file.bytes("spawn_failed", text.as_bytes());
                file.number("errno", *errno);
            }
        }
        match self.exit {
            Some(Exit::Code(code)) => file.number("code", code),
            Some(Exit::Signal(signal)) => file.number("signal", signal),
            None => {}
        }
        file.number("started_at", self.started_at);
        file.number("ended_at", self.ended_at);
        file.number("cpu_micros", self.cpu_micros);
        file.number("peak_kb", self.peak_kb);
        file.number("log_bytes", self.log_bytes);
        file.number("dropped_bytes", self.dropped_bytes);
        for (name, value) in &self.outputs {
            file.bytes("output", name.as_bytes());
            file.bytes("value", value);
        }
        file.number("outputs_refused", self.outputs_refused);
        self.message.iter().for_each(|message| file.bytes("message", message));
        file.finish()
    }

    pub fn decode(file: &[u8]) -> io::Result<ShimResult> {
        let mut result = ShimResult::empty();
        let mut reason = None;
        for (name, value) in record::read(TITLE, file)? {
            match name {
                "attempt" => result.attempt = record::number(name, value)?,
                "exited" => reason = Some(Reason::Exited),
                "timeout" => reason = Some(Reason::Timeout),
                "stopped" => reason = Some(Reason::Stopped { by: record::text(value) }),
                "leash" => reason = Some(Reason::Leash),
                "spawn_failed" => reason = Some(Reason::SpawnFailed { errno: 0, text: record::text(value) }),
                "errno" => {
                    if let Some(Reason::SpawnFailed { errno, .. }) = &mut reason {
                        *errno = record::number(name, value)?;
                    }
                }
                "code" => result.exit = Some(Exit::Code(record::number(name, value)?)),
                "signal" => result.exit = Some(Exit::Signal(record::number(name, value)?)),
                "started_at" => result.started_at = record::number(name, value)?,
                "ended_at" => result.ended_at = record::number(name, value)?,
                "cpu_micros" => result.cpu_micros = record::number(name, value)?,
                "peak_kb" => result.peak_kb = record::number(name, value)?,
                "log_bytes" => result.log_bytes = record::number(name, value)?,
                "dropped_bytes" => result.dropped_bytes = record::number(name, value)?,
                "output" => result.outputs.push((record::text(value), Vec::new())),
                "value" => {
                    if let Some((_, last)) = result.outputs.last_mut() {
                        *last = value.to_vec();
                    }
                }
                "outputs_refused" => result.outputs_refused = record::number(name, value)?,
                "message" => result.message = Some(value.to_vec()),
                _ => {}
            }
        }
        result.reason = reason.ok_or_else(|| record::broken(TITLE, "it gives no reason"))?;
        Ok(result)
    }

    fn empty() -> ShimResult {
        ShimResult {
            attempt: 0,
            reason: Reason::Exited,
            exit: None,
            started_at: 0,
            ended_at: 0,
            cpu_micros: 0,
            peak_kb: 0,
            log_bytes: 0,
            dropped_bytes: 0,
            outputs: Vec::new(),
            outputs_refused: 0,
            message: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_is_read_as_it_was_written() {
        let spawn_failed = Reason::SpawnFailed { errno: 2, text: "cannot run x".into() };
        let stopped = Reason::Stopped { by: "li wei\n".into() };
        for reason in [Reason::Exited, Reason::Timeout, stopped, Reason::Leash, spawn_failed] {
            for exit in [None, Some(Exit::Code(255)), Some(Exit::Signal(9))] {
                let result = ShimResult {
                    attempt: 9,
                    reason: reason.clone(),
                    exit,
                    outputs: vec![("a".into(), b"\xff\n".to_vec()), ("b".into(), Vec::new())],
                    message: Some(b"done".to_vec()),
                    ..ShimResult::empty()
                };
                assert_eq!(ShimResult::decode(&result.encode()).unwrap(), result);
            }
        }
    }
}
