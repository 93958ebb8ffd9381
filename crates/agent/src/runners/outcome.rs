//! What the end of a process means. The exit code is the task's word; everything else is ours.

use model::{Outcome, Timestamp, Usage, Verdict};
use serde_json::{Map, Value};
use wire::task::ExitCodes;

use crate::process::Ending;
use crate::shim::{Exit, Reason, ShimResult};

/// `now` is for endings that left no time of their own.
pub(crate) fn of_ending(ending: Ending, codes: &ExitCodes, now: Timestamp) -> Outcome {
    match ending {
        Ending::Result(result) => of_result(result, codes),
        Ending::Vanished { survivors: 0 } => {
            Outcome::of(Verdict::Lost, "the process that owned the task died without leaving a result", now)
        }
        Ending::Vanished { survivors } => {
            let what = "the process that owned the task died without leaving a result, and";
            Outcome::of(Verdict::Lost, format!("{what} {survivors} processes of the task could not be ended"), now)
        }
        Ending::NeverStarted => Outcome::of(Verdict::Undelivered, "the agent died before the task was started", now),
    }
}

/// An attempt that was taken and of which nothing else is left.
pub(crate) fn of_orphan(may_have_run: bool, now: Timestamp) -> Outcome {
    match may_have_run {
        true => Outcome::of(Verdict::Lost, "the agent died while it ran the task", now),
        false => of_ending(Ending::NeverStarted, &ExitCodes::default(), now),
    }
}

fn of_result(result: ShimResult, codes: &ExitCodes) -> Outcome {
    let (verdict, why) = judge(&result, codes);
    let ran = !matches!(result.reason, Reason::SpawnFailed { .. });
    Outcome {
        verdict,
        exit_code: result.exit.map(|exit| match exit {
            Exit::Code(code) => code,
            // As shells count.
            Exit::Signal(signal) => 128 + signal,
        }),
        message: message(&result, why),
        outputs: outputs(&result),
        started_at: ran.then_some(Timestamp(result.started_at)),
        ended_at: Timestamp(result.ended_at),
        usage: Usage {
            cpu_us: i64::try_from(result.cpu_micros).ok(),
            peak_kb: i64::try_from(result.peak_kb).ok(),
            log_bytes: i64::try_from(result.log_bytes).ok(),
        },
    }
}

fn judge(result: &ShimResult, codes: &ExitCodes) -> (Verdict, Option<String>) {
    match (&result.reason, result.exit) {
        (Reason::Exited, Some(Exit::Code(code))) => (codes.verdict(code), None),
        (Reason::Exited, Some(Exit::Signal(signal))) => (Verdict::Failed, Some(format!("ended by signal {signal}"))),
        (Reason::Exited, None) => (Verdict::Failed, Some("ended without an exit code".into())),
        (Reason::Timeout, _) => (Verdict::TimedOut, Some("ended because its time was up".into())),
        (Reason::Stopped { by }, _) => (Verdict::Stopped, Some(format!("stopped by {by}"))),
        (Reason::Leash, _) => {
            (Verdict::Lost, Some("ended because no server answered the agent for as long as the job allows".into()))
        }
        (Reason::SpawnFailed { errno, text }, _) => (spawn_failure(*errno), Some(text.clone())),
    }
}

/// What is not there or not allowed will not be so at the next try; a machine short of something may recover.
fn spawn_failure(errno: i32) -> Verdict {
    match errno {
        libc::EAGAIN | libc::ENOMEM | libc::EMFILE | libc::ENFILE | libc::EIO | libc::ETXTBSY | libc::EINTR => {
            Verdict::Failed
        }
        _ => Verdict::Refused,
    }
}

/// What the task said, and what we have to add.
fn message(result: &ShimResult, why: Option<String>) -> Option<String> {
    let said = result.message.as_ref().map(|bytes| text(bytes));
    let refused = (result.outputs_refused > 0).then(|| format!("{} outputs were not taken", result.outputs_refused));
    let parts: Vec<String> = [said, why, refused].into_iter().flatten().filter(|part| !part.is_empty()).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn outputs(result: &ShimResult) -> Option<String> {
    if result.outputs.is_empty() {
        return None;
    }
    let pairs = result.outputs.iter().map(|(name, value)| (name.clone(), Value::String(text(value))));
    Some(Value::Object(pairs.collect::<Map<_, _>>()).to_string())
}

/// Text columns take neither other bytes nor zeros.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace('\0', "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(reason: Reason, exit: Option<Exit>, message: Option<&[u8]>, expected: Expect) {
        let result = ShimResult {
            attempt: 1,
            reason,
            exit,
            started_at: 10,
            ended_at: 20,
            cpu_micros: 3,
            peak_kb: 4,
            log_bytes: 5,
            dropped_bytes: 0,
            outputs: vec![("rows".into(), b"5\0\xff".to_vec())],
            outputs_refused: 0,
            message: message.map(<[u8]>::to_vec),
        };
        let codes = ExitCodes { warning: vec![4], final_failure: vec![5], success: vec![6] };
        let o = of_ending(Ending::Result(result), &codes, Timestamp(99));
        let code = o.exit_code.map_or("-".into(), |code| code.to_string());
        let started = o.started_at.map_or("never".into(), |at| at.0.to_string());
        expected.assert_eq(&format!(
            "{:?} {code} from {started} {:?} {}",
            o.verdict,
            o.message.unwrap_or_default(),
            o.outputs.unwrap_or_default()
        ));
    }

    #[test]
    fn exit_codes_are_the_tasks_word() {
        let code = |code, expected| check(Reason::Exited, Some(Exit::Code(code)), Some(b"hi"), expected);
        code(0, expect![[r#"Succeeded 0 from 10 "hi" {"rows":"5��"}"#]]);
        code(1, expect![[r#"Failed 1 from 10 "hi" {"rows":"5��"}"#]]);
        code(4, expect![[r#"Warned 4 from 10 "hi" {"rows":"5��"}"#]]);
        code(5, expect![[r#"FailedForGood 5 from 10 "hi" {"rows":"5��"}"#]]);
        code(6, expect![[r#"Succeeded 6 from 10 "hi" {"rows":"5��"}"#]]);
    }

    #[test]
    fn other_ends_say_why() {
        let killed = Some(Exit::Signal(9));
        check(Reason::Exited, killed, None, expect![[r#"Failed 137 from 10 "ended by signal 9" {"rows":"5��"}"#]]);
        check(
            Reason::Timeout,
            killed,
            Some(b"half done"),
            expect![[r#"TimedOut 137 from 10 "half done; ended because its time was up" {"rows":"5��"}"#]],
        );
        check(
            Reason::Stopped { by: "li".into() },
            Some(Exit::Code(0)),
            None,
            expect![[r#"Stopped 0 from 10 "stopped by li" {"rows":"5��"}"#]],
        );
        let missing = Reason::SpawnFailed { errno: libc::ENOENT, text: "no such program".into() };
        check(missing, None, None, expect![[r#"Refused - from never "no such program" {"rows":"5��"}"#]]);
        let short = Reason::SpawnFailed { errno: libc::EAGAIN, text: "try again".into() };
        check(short, None, None, expect![[r#"Failed - from never "try again" {"rows":"5��"}"#]]);
    }
}
