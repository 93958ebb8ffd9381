//! What one server asks another for: the few things a request can need from the owners of several shards at once. Requests
//! about one job or instance are passed on whole instead. Fields are only ever added.

use std::collections::BTreeMap;

use model::{
    AgentId, AgentKind, AgentRecord, AttemptId, ContentId, Executor, JobId, Outcome, Report, ReportKind, Serves,
    ShardId, TaskSorts, TenantId, Timestamp, Verdict,
};
use serde::{Deserialize, Serialize};

use crate::job::ModeWord;

/// Where servers ask each other.
pub const ASK: &str = "/peer/v1/ask";
/// Where a server tells that nobody listened at an executor's address.
pub const REFUSED: &str = "/peer/v1/executor-refused";
/// Where a server says what time it is with it.
pub const CLOCK: &str = "/peer/v1/clock";
/// Where a server tells the lender what its shards have and want of shared limits.
pub const ACCOUNTS: &str = "/peer/v1/accounts";
/// Where the lender tells a server what its shards are lent.
pub const SLICES: &str = "/peer/v1/slices";
/// Set on what was passed on, so that it is passed on once.
pub const PASSED_ON: &str = "duly-passed-on";
/// The address of whoever asked the first server; believed only of another server.
pub const CALLER: &str = "duly-caller";
/// Set on what is a part of something that the first server records as a whole.
pub const RECORDED: &str = "duly-recorded";

/// Somebody called an executor, and nobody listened there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedBody {
    pub agent: i64,
    /// Microseconds, by the clock of whoever is told: no run that it was sent before this is with the process there now.
    pub at: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockBody {
    /// Microseconds.
    pub now: i64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AskBody {
    pub shard: i64,
    pub by: String,
    pub what: What,
}

impl AskBody {
    pub fn shard(&self) -> ShardId {
        ShardId(self.shard)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    ApplyJob(Box<DraftBody>),
    DeleteJob { job: i64 },
    PutAgent(Box<AgentBody>),
    CallBack { tenant: i64, pool: Option<String>, reports: Vec<ReportBody> },
    Followers { job: i64 },
    SetMode { job: i64, mode: ModeWord },
    Stop { instance: i64 },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DraftBody {
    pub id: Option<i64>,
    pub tenant: i64,
    pub name: String,
    pub folder: String,
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Contents, all in the store already.
    pub rule: i64,
    pub task: i64,
    pub source: i64,
    pub mode: ModeWord,
    pub alias: i32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentBody {
    pub id: i64,
    pub tenant: i64,
    pub name: String,
    pub pools: Vec<String>,
    pub labels: BTreeMap<String, String>,
    pub slots: u32,
    pub drained: bool,
    pub joined_at: i64,
    pub seen_at: Option<i64>,
    pub version: String,
    /// Keys of what it may run; absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<Vec<String>>,
    pub executor: Option<ExecutorBody>,
    /// Tenants that share it; null: all do.
    #[serde(default = "nobody")]
    pub serves: Option<Vec<i64>>,
}

/// What a server says that knows of no sharing.
fn nobody() -> Option<Vec<i64>> {
    Some(Vec::new())
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExecutorBody {
    pub listed: Option<u32>,
    pub present: bool,
    pub tells_busy: bool,
    pub keeps_logs: bool,
}

/// How a run ended, as its executor called back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReportBody {
    pub attempt: i64,
    pub ended: EndWord,
    pub exit_code: Option<i32>,
    pub message: Option<String>,
    pub at: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndWord {
    Well,
    TimedOut,
    Badly,
}

/// What the owner said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Said {
    Done,
    Job {
        id: i64,
        version: i64,
        changed: bool,
    },
    CalledBack {
        ended: usize,
        foreign: usize,
    },
    Followers(Vec<i64>),
    Refused(RefusedWord),
    /// The shard is not run there: nothing was told to anybody.
    NotHere,
    /// Told, and not answered: what became of it is not known.
    Stalled(String),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RefusedWord {
    NoSuchJob(i64),
    NameTaken { name: String, by: i64 },
    Cycle(i64),
    Held { job: i64, error: String },
    OutOfNumbers,
    NotOwner,
    Failed(String),
}

impl From<&AgentRecord> for AgentBody {
    fn from(record: &AgentRecord) -> AgentBody {
        let executor = match record.kind {
            AgentKind::Agent => None,
            AgentKind::Executor(Executor { listed, present, tells_busy, keeps_logs }) => {
                Some(ExecutorBody { listed, present, tells_busy, keeps_logs })
            }
        };
        AgentBody {
            id: record.id.0,
            tenant: record.tenant.0,
            name: record.name.clone(),
            pools: record.pools.clone(),
            labels: record.labels.clone(),
            slots: record.slots,
            drained: record.drained,
            joined_at: record.joined_at.0,
            seen_at: record.seen_at.map(|at| at.0),
            version: record.version.clone(),
            serves: match &record.serves {
                Serves::Own => nobody(),
                Serves::Everyone => None,
                Serves::Named(tenants) => Some(tenants.iter().map(|tenant| tenant.0).collect()),
            },
            runs: (record.runs != TaskSorts::ALL).then(|| record.runs.iter().map(|sort| sort.key().into()).collect()),
            executor,
        }
    }
}

impl From<AgentBody> for AgentRecord {
    fn from(body: AgentBody) -> AgentRecord {
        let kind = match body.executor {
            None => AgentKind::Agent,
            Some(ExecutorBody { listed, present, tells_busy, keeps_logs }) => {
                AgentKind::Executor(Executor { listed, present, tells_busy, keeps_logs })
            }
        };
        AgentRecord {
            id: AgentId(body.id),
            tenant: TenantId(body.tenant),
            name: body.name,
            pools: body.pools,
            labels: body.labels,
            slots: body.slots,
            drained: body.drained,
            joined_at: Timestamp(body.joined_at),
            seen_at: body.seen_at.map(Timestamp),
            version: body.version,
            serves: match body.serves {
                None => Serves::Everyone,
                Some(tenants) if tenants.is_empty() => Serves::Own,
                Some(tenants) => Serves::Named(tenants.into_iter().map(TenantId).collect()),
            },
            runs: body.runs.map_or(TaskSorts::ALL, |keys| TaskSorts::of_keys(keys.iter().map(String::as_str))),
            kind,
        }
    }
}

impl ReportBody {
    /// None: it is no ending.
    pub fn of(report: &Report) -> Option<ReportBody> {
        let ReportKind::Ended(outcome) = &report.kind else { return None };
        let ended = match outcome.verdict {
            Verdict::Succeeded => EndWord::Well,
            Verdict::TimedOut => EndWord::TimedOut,
            _ => EndWord::Badly,
        };
        let (exit_code, message) = (outcome.exit_code, outcome.message.clone());
        Some(ReportBody { attempt: report.attempt.0, ended, exit_code, message, at: outcome.ended_at.0 })
    }
}

impl From<ReportBody> for Report {
    fn from(body: ReportBody) -> Report {
        let verdict = match body.ended {
            EndWord::Well => Verdict::Succeeded,
            EndWord::TimedOut => Verdict::TimedOut,
            EndWord::Badly => Verdict::Failed,
        };
        let mut outcome = Outcome::of(verdict, String::new(), Timestamp(body.at));
        (outcome.exit_code, outcome.message) = (body.exit_code, body.message);
        let kind = ReportKind::Ended(Box::new(outcome));
        Report { attempt: AttemptId(body.attempt), seq: u32::MAX, kind }
    }
}

impl DraftBody {
    pub fn rule(&self) -> ContentId {
        ContentId(self.rule)
    }

    pub fn job(&self) -> Option<JobId> {
        self.id.map(JobId)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_the_same_at_the_other_end() {
        let executor = Executor { listed: Some(2), present: true, tells_busy: true, keeps_logs: false };
        for kind in [AgentKind::Agent, AgentKind::Executor(executor)] {
            let record = AgentRecord {
                id: AgentId(7),
                tenant: TenantId(3),
                serves: Serves::Named(vec![TenantId(9)]),
                name: "box".into(),
                pools: vec!["etl".into()],
                labels: BTreeMap::from([("zone".into(), "a".into())]),
                slots: 4,
                drained: true,
                joined_at: Timestamp(5),
                seen_at: Some(Timestamp(6)),
                version: "1".into(),
                runs: TaskSorts::of_keys(["http"]),
                kind,
            };
            let text = serde_json::to_string(&AgentBody::from(&record)).unwrap();
            assert_eq!(AgentRecord::from(serde_json::from_str::<AgentBody>(&text).unwrap()), record);
        }
    }

    #[test]
    fn a_called_back_ending_is_the_same_at_the_other_end() {
        for verdict in [Verdict::Succeeded, Verdict::TimedOut, Verdict::Failed] {
            let mut outcome = Outcome::of(verdict, "said", Timestamp(9));
            outcome.exit_code = Some(500);
            let kind = ReportKind::Ended(Box::new(outcome));
            let report = Report { attempt: AttemptId(4), seq: u32::MAX, kind };
            assert_eq!(Report::from(ReportBody::of(&report).unwrap()), report);
        }
    }
}
