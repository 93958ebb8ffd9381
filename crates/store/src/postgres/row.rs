//! Rows back into nouns. A value nobody knows makes its row unreadable, which is reported and never fatal.

use engine::HeldJob;
use engine::change::{Gap, Note};
use model::{
    Actor, AgentId, AgentRecord, AttemptId, ContentId, Ending, Instance, InstanceId, JobId, JobMode, JobRecord,
    Outcome, Part, PoolRecord, State, TenantId, Timestamp, Uncertain, Usage, Verdict, VersionId,
};
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;

use crate::StoredVersion;
use crate::code::{self, Code};
use crate::json;
use crate::read::{AttemptRecord, Interval, NoteRecord};

#[derive(Debug)]
pub(super) struct Unreadable {
    pub job: Option<JobId>,
    pub what: String,
}

/// A row of an `instance` table.
pub(super) fn instance(row: &Row) -> Result<Instance, Unreadable> {
    read_instance(row).map_err(|what| {
        let id = get::<i64>(row, "id").map_or_else(|_| "?".into(), |id| id.to_string());
        Unreadable { job: get(row, "job").ok().map(JobId), what: format!("instance {id}: {what}") }
    })
}

/// How the instance of such a row ended; none while it is open.
pub(super) fn ending(row: &Row) -> Result<Option<Ending>, Unreadable> {
    let read = || -> Result<Option<Ending>, String> {
        let state: State = coded(row, "state")?;
        if state.is_open() {
            return Ok(None);
        }
        let ending = code::decode_ending(state, get_small(row, "reason")?, get(row, "ended_by")?);
        ending.map(Some).ok_or_else(|| format!("its reason does not go with {state}"))
    };
    read().map_err(|what| Unreadable { job: get(row, "job").ok().map(JobId), what })
}

fn read_instance(row: &Row) -> Result<Instance, String> {
    let cause = get_small(row, "cause")?.unwrap_or(-1);
    let cause = code::decode_cause(cause, get(row, "cause_ref")?, get(row, "cause_by")?);
    let uncertain = match (get::<Option<i64>>(row, "uncertain_since")?, get::<Option<String>>(row, "uncertain_why")?) {
        (Some(since), why) => Some(Uncertain { since: Timestamp(since), why: why.unwrap_or_default() }),
        (None, _) => None,
    };
    Ok(Instance {
        id: InstanceId(get(row, "id")?),
        tenant: TenantId(get(row, "tenant")?),
        job: JobId(get(row, "job")?),
        version: VersionId(get(row, "version")?),
        planned: Timestamp(get(row, "planned")?),
        part: Part { number: unsigned(row, "part")?, total: unsigned(row, "parts")? },
        parent: get::<Option<i64>>(row, "parent")?.map(InstanceId),
        cause: cause.ok_or("its cause is not one we know")?,
        params: get::<Option<i64>>(row, "params")?.map(ContentId),
        state: coded(row, "state")?,
        attempt: AttemptId(get(row, "attempt")?),
        attempt_no: unsigned(row, "attempt_no")?,
        retries_used: unsigned(row, "retries_used")?,
        target: get::<Option<i64>>(row, "target")?.map(AgentId),
        created_at: Timestamp(get(row, "created_at")?),
        ordered_at: code::time(get(row, "ordered_at")?),
        started_at: code::time(get(row, "started_at")?),
        ended_at: code::time(get(row, "ended_at")?),
        retry_at: code::time(get(row, "retry_at")?),
        exit_code: get(row, "exit_code")?,
        message: get(row, "message")?,
        outputs: get(row, "outputs")?,
        usage: usage(row)?,
        why: get(row, "why")?,
        stopping: get::<Option<String>>(row, "stopping_by")?.map(Actor),
        uncertain,
    })
}

fn usage(row: &Row) -> Result<Usage, String> {
    Ok(Usage { cpu_us: get(row, "cpu_us")?, peak_kb: get(row, "peak_kb")?, log_bytes: get(row, "log_bytes")? })
}

pub(super) fn job(row: &Row) -> Result<JobRecord, Unreadable> {
    let read = || -> Result<JobRecord, String> {
        Ok(JobRecord {
            id: JobId(get(row, "id")?),
            tenant: TenantId(get(row, "tenant")?),
            name: get(row, "name")?,
            version: VersionId(get(row, "version")?),
            rule: ContentId(get(row, "rule")?),
            task: ContentId(get(row, "task")?),
            source: ContentId(get(row, "source")?),
            folder: get(row, "folder")?,
            mode: coded::<JobMode>(row, "mode")?,
            since: Timestamp(get(row, "since")?),
            fired: get::<i64>(row, "fired")?.max(0) as u64,
            changed_by: get(row, "changed_by")?,
            alias: get(row, "alias")?,
            labels: json::read_map(&get::<String>(row, "labels")?).ok_or("its labels cannot be read")?,
        })
    };
    let id = get(row, "id").ok().map(JobId);
    read().map_err(|what| Unreadable { job: id, what: format!("job {}: {what}", id.unwrap_or_default()) })
}

pub(super) const JOB_COLUMNS: &str =
    "id, tenant, name, version, rule, task, source, folder, mode, since, fired, changed_by, alias, labels";

/// `select id, job, rule, task, source from job_version`
pub(super) fn version(row: &Row) -> StoredVersion {
    StoredVersion {
        id: VersionId(row.get(0)),
        job: JobId(row.get(1)),
        rule: ContentId(row.get(2)),
        task: ContentId(row.get(3)),
        source: ContentId(row.get(4)),
    }
}

pub(super) fn agent(row: &Row) -> Result<AgentRecord, Unreadable> {
    let read = || -> Result<AgentRecord, String> {
        let listed = get::<Option<i64>>(row, "listed")?.map(u32::try_from).transpose().map_err(|e| e.to_string())?;
        Ok(AgentRecord {
            id: AgentId(get(row, "id")?),
            tenant: TenantId(get(row, "tenant")?),
            name: get(row, "name")?,
            pools: json::read_list(&get::<String>(row, "pools")?).ok_or("its pools are not a list of names")?,
            labels: json::read_map(&get::<String>(row, "labels")?).ok_or("its labels are not a map of names")?,
            slots: u32::try_from(get::<i64>(row, "slots")?).map_err(|e| e.to_string())?,
            drained: get(row, "drained")?,
            joined_at: Timestamp(get(row, "joined_at")?),
            seen_at: code::time(get(row, "seen_at")?),
            version: get(row, "version")?,
            serves: json::read_serves(get::<Option<String>>(row, "serves")?.as_deref()),
            runs: model::TaskSorts::ALL,
            kind: code::agent_kind(get(row, "executor")?, listed),
        })
    };
    let id = get(row, "id").unwrap_or(-1_i64);
    read().map_err(|what| Unreadable { job: None, what: format!("agent {id}: {what}") })
}

/// `select tenant, name, running_max, addresses from pool`
pub(super) fn pool(row: &Row) -> PoolRecord {
    PoolRecord {
        tenant: TenantId(row.get(0)),
        name: row.get(1),
        limit: row.get::<_, Option<i64>>(2).and_then(|limit| u32::try_from(limit).ok()),
        addresses: json::read_list(row.get(3)).unwrap_or_default(),
    }
}

/// `select job, error, at, decided from quarantine`
pub(super) fn held(row: &Row) -> HeldJob {
    let (at, decided): (i64, Option<i64>) = (row.get(2), row.get(3));
    let since = decided.map(|decided| (Timestamp(at), Timestamp(decided)));
    HeldJob { job: JobId(row.get(0)), error: row.get(1), since }
}

pub(super) fn attempt(row: &Row) -> Result<AttemptRecord, Unreadable> {
    let read = || -> Result<AttemptRecord, String> {
        Ok(AttemptRecord {
            id: AttemptId(get(row, "id")?),
            instance: InstanceId(get(row, "instance")?),
            number: unsigned(row, "number")?,
            target: get::<Option<i64>>(row, "target")?.map(AgentId),
            ordered_at: code::time(get(row, "ordered_at")?),
            outcome: Outcome {
                verdict: coded::<Verdict>(row, "verdict")?,
                exit_code: get(row, "exit_code")?,
                message: get(row, "message")?,
                outputs: get(row, "outputs")?,
                started_at: code::time(get(row, "started_at")?),
                ended_at: Timestamp(get(row, "ended_at")?),
                usage: usage(row)?,
            },
            reopened_by: get::<Option<String>>(row, "reopened_by")?.map(Actor),
        })
    };
    let id = get(row, "id").unwrap_or(-1_i64);
    read().map_err(|what| Unreadable { job: None, what: format!("attempt {id}: {what}") })
}

pub(super) fn gap(row: &Row) -> Result<Gap, Unreadable> {
    let read = || -> Result<Gap, String> {
        let fate = get_small(row, "fate")?.unwrap_or(-1);
        Ok(Gap {
            job: JobId(get(row, "job")?),
            tenant: TenantId(get(row, "tenant")?),
            first: Timestamp(get(row, "first")?),
            last: Timestamp(get(row, "last")?),
            count: get::<i64>(row, "count")?.max(0) as u64,
            fate: code::decode_fate(fate, get_small(row, "reason")?, get(row, "instance")?).ok_or("unknown fate")?,
            why: get(row, "why")?,
        })
    };
    read().map_err(|what| Unreadable { job: None, what })
}

pub(super) fn interval(row: &Row) -> Result<Interval, Unreadable> {
    let read = || -> Result<Interval, String> {
        Ok(Interval {
            job: JobId(get(row, "job")?),
            tenant: TenantId(get(row, "tenant")?),
            name: get(row, "name")?,
            since: Timestamp(get(row, "since")?),
            until: code::time(get(row, "until")?),
            version: VersionId(get(row, "version")?),
            rule: ContentId(get(row, "rule")?),
            mode: coded(row, "mode")?,
        })
    };
    read().map_err(|what| Unreadable { job: None, what })
}

pub(super) fn note(row: &Row) -> Result<NoteRecord, Unreadable> {
    let read = || -> Result<NoteRecord, String> {
        let kind = get_small(row, "kind")?.unwrap_or(-1);
        Ok(NoteRecord {
            id: get(row, "id")?,
            note: Note {
                at: Timestamp(get(row, "at")?),
                job: get::<Option<i64>>(row, "job")?.map(JobId),
                instance: get::<Option<i64>>(row, "instance")?.map(InstanceId),
                kind: code::decode_note(kind, get(row, "detail")?).ok_or("unknown kind")?,
            },
        })
    };
    read().map_err(|what| Unreadable { job: None, what })
}

/// A small number of one of our own statements.
pub(super) fn small(row: &Row, column: usize) -> i64 {
    i64::from(row.get::<_, i16>(column))
}

pub(super) fn maybe_small(row: &Row, column: usize) -> Option<i64> {
    row.get::<_, Option<i16>>(column).map(i64::from)
}

fn get<'r, T: FromSql<'r>>(row: &'r Row, column: &str) -> Result<T, String> {
    row.try_get(column).map_err(|error| error.to_string())
}

fn get_small(row: &Row, column: &str) -> Result<Option<i64>, String> {
    Ok(get::<Option<i16>>(row, column)?.map(i64::from))
}

fn unsigned(row: &Row, column: &str) -> Result<u32, String> {
    u32::try_from(get::<i32>(row, column)?).map_err(|error| format!("{column}: {error}"))
}

fn coded<T: Code>(row: &Row, column: &str) -> Result<T, String> {
    let code = get_small(row, column)?.unwrap_or(-1);
    T::decode(code).ok_or_else(|| format!("{column} {code} is not one we know"))
}
