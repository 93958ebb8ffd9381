//! Why an operation was not done, as the problem a caller is shown.

use engine::{PlanError, Refusal};
use store::StoreError;
use wire::{Code, Fault, Problem};

use crate::shard::AskError;

#[derive(Clone, Debug)]
pub(crate) struct Refused(pub(crate) Box<Problem>);

impl Refused {
    /// Seconds after which asking again makes sense.
    pub(crate) fn retry_after(&self) -> Option<u32> {
        match self.0.status {
            503 => Some(1),
            429 => Some(self.0.help.as_deref().and_then(seconds_in).unwrap_or(1)),
            _ => None,
        }
    }
}

/// The help of a throttled login names the wait: "try again in 8 s".
fn seconds_in(help: &str) -> Option<u32> {
    help.split_whitespace().find_map(|word| word.parse().ok())
}

impl From<Problem> for Refused {
    fn from(problem: Problem) -> Refused {
        Refused(Box::new(problem))
    }
}

impl From<Box<Problem>> for Refused {
    fn from(problem: Box<Problem>) -> Refused {
        Refused(problem)
    }
}

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Refused {
        let code = match &error {
            StoreError::Busy(what) if what.contains("took too long") => Code::TookTooLong,
            StoreError::Busy(_) | StoreError::Lost(_) => Code::StoreBusy,
            StoreError::Corrupt(_) => Code::StoreDamaged,
            StoreError::Newer { .. } | StoreError::Failed(_) => Code::Internal,
        };
        Problem::new(code, error.to_string()).into()
    }
}

impl From<AskError> for Refused {
    fn from(error: AskError) -> Refused {
        match error {
            AskError::Refused(refusal) => refusal.into(),
            AskError::Gone => Problem::new(Code::NotReady, "the server is stopping").into(),
            AskError::Unserved(words) => Problem::new(Code::Unserved, words).into(),
            AskError::Stalled(_) => Problem::new(Code::StoreBusy, error.to_string()).into(),
        }
    }
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Refused {
        let code = match &refusal {
            Refusal::NoSuchJob(_) => Code::NoSuchJob,
            Refusal::NotOpen(_) => Code::NotOpen,
            Refusal::StillOpen(_) => Code::StillOpen,
            Refusal::NotUncertain(_) => Code::NotUncertain,
            Refusal::Disabled(_) => Code::JobDisabled,
            Refusal::Quarantined { .. } => Code::JobHeld,
            Refusal::NameTaken { .. } => Code::NameTaken,
            Refusal::AlreadyPlanned(_) | Refusal::Broadcast(_) => Code::AlreadyPlanned,
            Refusal::NoSuchAgent(_) => Code::NoSuchAgent,
            Refusal::NotThere { .. } => Code::NotThere,
            Refusal::AgentBusy(_) => Code::AgentBusy,
            Refusal::NoSuchTenant(_) => Code::NoSuchTenant,
            Refusal::TenantNameTaken(_) => Code::TenantNameTaken,
            Refusal::FirstTenant => Code::TenantKept,
            Refusal::TenantInUse(_) => Code::TenantInUse,
            Refusal::NoShardsLeft => Code::NoShardsLeft,
            Refusal::Cycle(_) => Code::FollowsItself,
            Refusal::OutOfNumbers => Code::StoreBusy,
            Refusal::NotOwner => Code::NotOwner,
            Refusal::Quarantining(_) => Code::EngineFailed,
        };
        let problem = Problem::new(code, refusal.to_string());
        match refusal {
            Refusal::Broadcast(_) => problem.with_help("Rerun its shards one by one, or trigger the job anew.").into(),
            _ => problem.into(),
        }
    }
}

/// A trigger the engine will not take, as a fault of the job that carries it.
pub(crate) fn trigger_fault(error: &PlanError) -> Fault {
    use engine::cron::ScheduleError;
    match error {
        PlanError::Cron(ScheduleError::Cron(cron)) => {
            let hint = format!("look at the {}, character {}", cron.field, cron.at + 1);
            Fault::new(Code::BadCron, "cron", error.to_string()).hint(hint)
        }
        PlanError::Cron(ScheduleError::Zone(_)) => Fault::new(Code::BadZone, "cron.zone", error.to_string()),
        PlanError::TooOften { .. } => Fault::new(Code::BadLength, "every", error.to_string()),
        PlanError::EndsFirst => Fault::new(Code::BadTrigger, "end", error.to_string()),
    }
}
