//! The small numbers that stand for our enums in the store. The only place that knows them: a number once written is
//! never given another meaning, and one that is not listed makes its row unreadable, never a panic.

use engine::EndOf;
use engine::change::{ClaimName, Fate, NoteKind};
use model::{
    Actor, AgentId, AgentKind, Cause, CauseKind, Ending, Executor, Failure, InstanceId, JobMode, ReportKind,
    ResourceKind, SkipReason, Span, State, TenantState, Timestamp, Verdict,
};

pub(crate) trait Code: Sized {
    fn code(self) -> i64;
    fn decode(code: i64) -> Option<Self>;
}

macro_rules! code {
    ($($type:ty { $($variant:path = $code:literal),* $(,)? })*) => {$(
        impl Code for $type {
            fn code(self) -> i64 {
                match self { $($variant => $code),* }
            }

            fn decode(code: i64) -> Option<Self> {
                match code { $($code => Some($variant),)* _ => None }
            }
        }
    )*};
}

code! {
    // Below 10 is open: the schema relies on it, and on 10 being the ordinary end.
    State {
        State::Scheduled = 0,
        State::Ready = 1,
        State::Dispatched = 2,
        State::Running = 3,
        State::RetryWait = 4,
        State::Succeeded = 10,
        State::Warned = 11,
        State::Failed = 12,
        State::Dead = 13,
        State::Skipped = 14,
        State::Stopped = 15,
        State::Forced = 16,
    }
    Verdict {
        Verdict::Succeeded = 1,
        Verdict::Warned = 2,
        Verdict::Failed = 3,
        Verdict::FailedForGood = 4,
        Verdict::TimedOut = 5,
        Verdict::Stopped = 6,
        Verdict::Lost = 7,
        Verdict::Undelivered = 8,
        Verdict::Refused = 9,
        Verdict::Discarded = 10,
    }
    Failure {
        Failure::Exit = 1,
        Failure::Timeout = 2,
        Failure::Lost = 3,
        Failure::Undelivered = 4,
        Failure::Refused = 5,
    }
    SkipReason {
        SkipReason::Overlap = 11,
        SkipReason::Misfire = 12,
        SkipReason::Paused = 13,
        SkipReason::Disabled = 14,
        SkipReason::Quarantined = 15,
    }
    TenantState {
        TenantState::Active = 1,
        TenantState::Closing = 2,
    }
    ResourceKind {
        ResourceKind::Mutex = 1,
        ResourceKind::Counted = 2,
    }
    EndOf {
        EndOf::Whole = 1,
        EndOf::Share = 2,
        EndOf::Both = 3,
    }
    JobMode {
        JobMode::Enabled = 1,
        JobMode::Paused = 2,
        JobMode::Disabled = 3,
    }
}

/// `state` and `reason` and `ended_by` of an ended instance.
pub(crate) fn ending(ending: &Ending) -> (i64, Option<i64>, Option<&str>) {
    let state = ending.state().code();
    match ending {
        Ending::Succeeded | Ending::Warned => (state, None, None),
        Ending::Failed(failure) | Ending::Dead(failure) => (state, Some(failure.code()), None),
        Ending::Skipped(reason) => (state, Some(reason.code()), None),
        Ending::Stopped(by) | Ending::Forced(by) => (state, None, Some(&by.0)),
    }
}

pub(crate) fn decode_ending(state: State, reason: Option<i64>, by: Option<String>) -> Option<Ending> {
    let failure = || reason.and_then(Failure::decode);
    match state {
        State::Scheduled | State::Ready | State::Dispatched | State::Running | State::RetryWait => None,
        State::Succeeded => Some(Ending::Succeeded),
        State::Warned => Some(Ending::Warned),
        State::Failed => failure().map(Ending::Failed),
        State::Dead => failure().map(Ending::Dead),
        State::Skipped => reason.and_then(SkipReason::decode).map(Ending::Skipped),
        State::Stopped => by.map(|by| Ending::Stopped(Actor(by))),
        State::Forced => by.map(|by| Ending::Forced(Actor(by))),
    }
}

pub(crate) fn cause_kind(kind: CauseKind) -> i64 {
    match kind {
        CauseKind::Planned => 1,
        CauseKind::Misfire => 2,
        CauseKind::Manual => 3,
        CauseKind::After => 4,
        CauseKind::Shard => 5,
    }
}

/// `cause`, `cause_ref` and `cause_by`.
pub(crate) fn cause(cause: &Cause) -> (i64, Option<i64>, Option<&str>) {
    let code = cause_kind(cause.kind());
    match cause {
        Cause::Planned => (code, None, None),
        Cause::Misfire { missed } => (code, Some(i64::try_from(*missed).unwrap_or(i64::MAX)), None),
        Cause::Manual(by) => (code, None, Some(&by.0)),
        Cause::After(instance) | Cause::Shard(instance) => (code, Some(instance.0), None),
    }
}

pub(crate) fn decode_cause(code: i64, reference: Option<i64>, by: Option<String>) -> Option<Cause> {
    match (code, reference, by) {
        (1, _, _) => Some(Cause::Planned),
        (2, Some(missed), _) => u64::try_from(missed).ok().map(|missed| Cause::Misfire { missed }),
        (3, _, Some(by)) => Some(Cause::Manual(Actor(by))),
        (4, Some(id), _) => Some(Cause::After(InstanceId(id))),
        (5, Some(id), _) => Some(Cause::Shard(InstanceId(id))),
        _ => None,
    }
}

/// Planned and made-up times count in the ledger of a trigger.
pub(crate) fn cause_is_trigger(code: i64) -> bool {
    code == 1 || code == 2
}

/// `fate`, `reason` and `instance` of a gap.
pub(crate) fn fate(fate: Fate) -> (i64, Option<i64>, Option<i64>) {
    match fate {
        Fate::Missed => (1, None, None),
        Fate::Merged(instance) => (2, None, Some(instance.0)),
        Fate::Skipped(reason) => (3, Some(reason.code()), None),
    }
}

pub(crate) fn decode_fate(code: i64, reason: Option<i64>, instance: Option<i64>) -> Option<Fate> {
    match (code, reason, instance) {
        (1, _, _) => Some(Fate::Missed),
        (2, _, Some(instance)) => Some(Fate::Merged(InstanceId(instance))),
        (3, Some(reason), _) => SkipReason::decode(reason).map(Fate::Skipped),
        _ => None,
    }
}

/// `kind` and `detail` of a note.
pub(crate) fn note(kind: &NoteKind) -> (i64, Option<i64>) {
    match kind {
        NoteKind::NotStartedInTime => (1, None),
        NoteKind::NotFinishedInTime => (2, None),
        NoteKind::ClockJumped { by } => (3, Some(by.0)),
        NoteKind::AgentOnline(agent) => (4, Some(agent.0)),
        NoteKind::AgentSilent(agent) => (5, Some(agent.0)),
        NoteKind::Mode(mode) => (6, Some(mode.code())),
    }
}

pub(crate) fn decode_note(kind: i64, detail: Option<i64>) -> Option<NoteKind> {
    match (kind, detail) {
        (1, _) => Some(NoteKind::NotStartedInTime),
        (2, _) => Some(NoteKind::NotFinishedInTime),
        (3, Some(by)) => Some(NoteKind::ClockJumped { by: Span(by) }),
        (4, Some(agent)) => Some(NoteKind::AgentOnline(AgentId(agent))),
        (5, Some(agent)) => Some(NoteKind::AgentSilent(AgentId(agent))),
        (6, Some(mode)) => JobMode::decode(mode).map(NoteKind::Mode),
        _ => None,
    }
}

/// `kind`, `tenant` and `name` of a claim; the schema knows that 2 is an idempotency key.
pub(crate) fn claim(name: &ClaimName) -> (i64, i64, &str) {
    match name {
        ClaimName::JobName { tenant, name } => (JOB_NAME, tenant.0, name),
        ClaimName::Key { tenant, key } => (2, tenant.0, key),
    }
}

pub(crate) const JOB_NAME: i64 = 1;

/// `kind` of an orphan, and the words kept of it.
pub(crate) fn orphan(kind: &ReportKind) -> (i64, String) {
    (
        match kind {
            ReportKind::Started { .. } => 1,
            ReportKind::Ended(_) => 2,
        },
        crate::settled::words_of(kind),
    )
}

pub(crate) fn time(micros: Option<i64>) -> Option<Timestamp> {
    micros.map(Timestamp)
}

/// An agent's kind as two columns.
pub(crate) fn of_agent_kind(kind: AgentKind) -> (Option<i64>, Option<u32>) {
    match kind {
        AgentKind::Agent => (None, None),
        AgentKind::Executor(executor) => {
            let signs = [executor.present, executor.tells_busy, executor.keeps_logs];
            let coded = signs.into_iter().rev().fold(0, |coded, sign| 2 * coded + i64::from(sign));
            (Some(coded), executor.listed)
        }
    }
}

pub(crate) fn agent_kind(executor: Option<i64>, listed: Option<u32>) -> AgentKind {
    executor.map_or(AgentKind::Agent, |signs| {
        AgentKind::Executor(Executor {
            listed,
            present: signs & 1 != 0,
            tells_busy: signs & 2 != 0,
            keeps_logs: signs & 4 != 0,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_reads_back_as_what_was_written() {
        for state in State::ALL {
            assert_eq!(State::decode(state.code()), Some(state));
            assert_eq!(state.code() < 10, state.is_open(), "{state}");
        }
        for code in (-1..30).filter(|code| !State::ALL.iter().any(|state| state.code() == *code)) {
            assert_eq!(State::decode(code), None);
        }
        let by = || Actor("ann".into());
        for end in [
            Ending::Succeeded,
            Ending::Warned,
            Ending::Failed(Failure::Timeout),
            Ending::Dead(Failure::Lost),
            Ending::Skipped(SkipReason::Paused),
            Ending::Stopped(by()),
            Ending::Forced(by()),
        ] {
            let (_, reason, who) = ending(&end);
            assert_eq!(decode_ending(end.state(), reason, who.map(String::from)), Some(end));
        }
        for one in [
            Cause::Planned,
            Cause::Misfire { missed: 3 },
            Cause::Manual(by()),
            Cause::After(InstanceId(7)),
            Cause::Shard(InstanceId(8)),
        ] {
            let (code, reference, who) = cause(&one);
            assert_eq!(decode_cause(code, reference, who.map(String::from)), Some(one));
        }
    }
}
