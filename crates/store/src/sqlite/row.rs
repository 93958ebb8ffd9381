//! Rows back into nouns. A value nobody knows makes its row unreadable, which is reported and never fatal.

use engine::HeldJob;
use engine::change::{Gap, Note};
use model::{
    Actor, AgentId, AgentRecord, AttemptId, ContentId, Ending, Instance, InstanceId, JobId, JobMode, JobRecord,
    Outcome, Part, PoolRecord, State, TenantId, Timestamp, Uncertain, Usage, Verdict, VersionId,
};
use rusqlite::Row;
use rusqlite::types::FromSql;

use crate::StoredVersion;
use crate::code::{self, Code};
use crate::json;
use crate::read::{AttemptRecord, Interval, NoteRecord};

#[derive(Debug)]
pub(super) struct Unreadable {
    pub job: Option<JobId>,
    pub what: String,
}

/// A row of `instance_day`, its columns in the order of `create_day.sql`.
pub(super) fn instance(row: &Row) -> Result<Instance, Unreadable> {
    read_instance(row).map_err(|what| {
        let id = row.get::<_, i64>(0).map_or_else(|_| "?".into(), |id| id.to_string());
        Unreadable { job: row.get(3).ok().map(JobId), what: format!("instance {id}: {what}") }
    })
}

/// How the instance of such a row ended; none while it is open.
pub(super) fn ending(row: &Row) -> Result<Option<Ending>, Unreadable> {
    let read = || -> Result<Option<Ending>, String> {
        let state: State = coded(row, 13, "state")?;
        if state.is_open() {
            return Ok(None);
        }
        let ending = code::decode_ending(state, get(row, 23)?, get(row, 24)?);
        ending.map(Some).ok_or_else(|| format!("its reason does not go with {state}"))
    };
    read().map_err(|what| Unreadable { job: row.get(3).ok().map(JobId), what })
}

fn read_instance(row: &Row) -> Result<Instance, String> {
    let cause = code::decode_cause(get(row, 9)?, get(row, 10)?, get(row, 11)?);
    let uncertain = match (get::<Option<i64>>(row, 34)?, get::<Option<String>>(row, 35)?) {
        (Some(since), why) => Some(Uncertain { since: Timestamp(since), why: why.unwrap_or_default() }),
        (None, _) => None,
    };
    Ok(Instance {
        id: InstanceId(get(row, 0)?),
        tenant: TenantId(get(row, 2)?),
        job: JobId(get(row, 3)?),
        version: VersionId(get(row, 4)?),
        planned: Timestamp(get(row, 5)?),
        part: Part { number: get(row, 6)?, total: get(row, 7)? },
        parent: get::<Option<i64>>(row, 8)?.map(InstanceId),
        cause: cause.ok_or("its cause is not one we know")?,
        params: get::<Option<i64>>(row, 12)?.map(ContentId),
        state: coded(row, 13, "state")?,
        attempt: AttemptId(get(row, 14)?),
        attempt_no: get(row, 15)?,
        retries_used: get(row, 37)?,
        target: get::<Option<i64>>(row, 16)?.map(AgentId),
        created_at: Timestamp(get(row, 17)?),
        ordered_at: code::time(get(row, 18)?),
        started_at: code::time(get(row, 19)?),
        ended_at: code::time(get(row, 20)?),
        retry_at: code::time(get(row, 21)?),
        exit_code: get(row, 25)?,
        message: get(row, 26)?,
        outputs: get(row, 27)?,
        usage: Usage { cpu_us: get(row, 28)?, peak_kb: get(row, 29)?, log_bytes: get(row, 30)? },
        why: get(row, 31)?,
        stopping: get::<Option<String>>(row, 32)?.map(Actor),
        uncertain,
    })
}

/// `select` of `JOB_COLUMNS` from job
pub(super) fn job(row: &Row) -> Result<JobRecord, Unreadable> {
    let read = || -> Result<JobRecord, String> {
        Ok(JobRecord {
            id: JobId(get(row, 0)?),
            tenant: TenantId(get(row, 1)?),
            name: get(row, 2)?,
            version: VersionId(get(row, 3)?),
            rule: ContentId(get(row, 4)?),
            task: ContentId(get(row, 5)?),
            source: ContentId(get(row, 6)?),
            folder: get(row, 7)?,
            mode: coded::<JobMode>(row, 8, "mode")?,
            since: Timestamp(get(row, 9)?),
            fired: get::<i64>(row, 10)?.max(0) as u64,
            changed_by: get(row, 11)?,
            alias: get(row, 12)?,
            labels: json::read_map(&get::<String>(row, 13)?).ok_or("its labels cannot be read")?,
        })
    };
    let id = row.get(0).ok().map(JobId);
    read().map_err(|what| Unreadable { job: id, what: format!("job {}: {what}", id.unwrap_or_default()) })
}

pub(super) const JOB_COLUMNS: &str =
    "id, tenant, name, version, rule, task, source, folder, mode, since, fired, changed_by, alias, labels";

/// `select id, job, rule, task, source from job_version`
pub(super) fn version(row: &Row) -> rusqlite::Result<StoredVersion> {
    Ok(StoredVersion {
        id: VersionId(row.get(0)?),
        job: JobId(row.get(1)?),
        rule: ContentId(row.get(2)?),
        task: ContentId(row.get(3)?),
        source: ContentId(row.get(4)?),
    })
}

/// `select * from agent`
pub(super) fn agent(row: &Row) -> Result<AgentRecord, Unreadable> {
    let read = || -> Result<AgentRecord, String> {
        Ok(AgentRecord {
            id: AgentId(get(row, 0)?),
            tenant: TenantId(get(row, 1)?),
            name: get(row, 2)?,
            pools: json::read_list(&get::<String>(row, 3)?).ok_or("its pools are not a list of names")?,
            labels: json::read_map(&get::<String>(row, 4)?).ok_or("its labels are not a map of names")?,
            slots: get(row, 5)?,
            drained: get(row, 6)?,
            joined_at: Timestamp(get(row, 7)?),
            seen_at: code::time(get(row, 8)?),
            version: get(row, 9)?,
            serves: json::read_serves(row.get::<_, Option<String>>("serves").map_err(|e| e.to_string())?.as_deref()),
            runs: model::TaskSorts::ALL,
            kind: code::agent_kind(get(row, 10)?, get(row, 11)?),
        })
    };
    read().map_err(|what| Unreadable { job: None, what: format!("agent {}: {what}", row.get(0).unwrap_or(-1_i64)) })
}

/// `select tenant, name, running_max, addresses from pool`
pub(super) fn pool(row: &Row) -> rusqlite::Result<PoolRecord> {
    let addresses = json::read_list(&row.get::<_, String>(3)?).unwrap_or_default();
    Ok(PoolRecord { tenant: TenantId(row.get(0)?), name: row.get(1)?, limit: row.get(2)?, addresses })
}

/// `select job, error, at, decided from quarantine`
pub(super) fn held(row: &Row) -> rusqlite::Result<HeldJob> {
    let (at, decided): (i64, Option<i64>) = (row.get(2)?, row.get(3)?);
    let since = decided.map(|decided| (Timestamp(at), Timestamp(decided)));
    Ok(HeldJob { job: JobId(row.get(0)?), error: row.get(1)?, since })
}

/// `select * from attempt`
pub(super) fn attempt(row: &Row) -> Result<AttemptRecord, Unreadable> {
    let read = || -> Result<AttemptRecord, String> {
        Ok(AttemptRecord {
            id: AttemptId(get(row, 0)?),
            instance: InstanceId(get(row, 1)?),
            number: get(row, 3)?,
            target: get::<Option<i64>>(row, 4)?.map(AgentId),
            ordered_at: code::time(get(row, 5)?),
            outcome: Outcome {
                verdict: coded::<Verdict>(row, 6, "verdict")?,
                exit_code: get(row, 7)?,
                message: get(row, 8)?,
                outputs: get(row, 9)?,
                started_at: code::time(get(row, 10)?),
                ended_at: Timestamp(get(row, 11)?),
                usage: Usage { cpu_us: get(row, 12)?, peak_kb: get(row, 13)?, log_bytes: get(row, 14)? },
            },
            reopened_by: get::<Option<String>>(row, 15)?.map(Actor),
        })
    };
    read().map_err(|what| Unreadable { job: None, what: format!("attempt {}: {what}", row.get(0).unwrap_or(-1_i64)) })
}

/// `select job, tenant, first, last, count, fate, reason, instance, why from gap`
pub(super) fn gap(row: &Row) -> Result<Gap, Unreadable> {
    let read = || -> Result<Gap, String> {
        Ok(Gap {
            job: JobId(get(row, 0)?),
            tenant: TenantId(get(row, 1)?),
            first: Timestamp(get(row, 2)?),
            last: Timestamp(get(row, 3)?),
            count: get::<i64>(row, 4)?.max(0) as u64,
            fate: code::decode_fate(get(row, 5)?, get(row, 6)?, get(row, 7)?).ok_or("unknown fate")?,
            why: get(row, 8)?,
        })
    };
    read().map_err(|what| Unreadable { job: None, what })
}

/// `select job, tenant, name, since, until, version, rule, mode from job_interval`
pub(super) fn interval(row: &Row) -> Result<Interval, Unreadable> {
    let read = || -> Result<Interval, String> {
        Ok(Interval {
            job: JobId(get(row, 0)?),
            tenant: TenantId(get(row, 1)?),
            name: get(row, 2)?,
            since: Timestamp(get(row, 3)?),
            until: code::time(get(row, 4)?),
            version: VersionId(get(row, 5)?),
            rule: ContentId(get(row, 6)?),
            mode: JobMode::decode(get(row, 7)?).ok_or("unknown mode")?,
        })
    };
    read().map_err(|what| Unreadable { job: None, what })
}

/// `select id, at, job, instance, kind, detail from note`
pub(super) fn note(row: &Row) -> Result<NoteRecord, Unreadable> {
    let read = || -> Result<NoteRecord, String> {
        Ok(NoteRecord {
            id: get(row, 0)?,
            note: Note {
                at: Timestamp(get(row, 1)?),
                job: get::<Option<i64>>(row, 2)?.map(JobId),
                instance: get::<Option<i64>>(row, 3)?.map(InstanceId),
                kind: code::decode_note(get(row, 4)?, get(row, 5)?).ok_or("unknown kind")?,
            },
        })
    };
    read().map_err(|what| Unreadable { job: None, what })
}

pub(super) fn get<T: FromSql>(row: &Row, column: usize) -> Result<T, String> {
    row.get(column).map_err(|error| error.to_string())
}

fn coded<T: Code>(row: &Row, column: usize, name: &str) -> Result<T, String> {
    let code = get(row, column)?;
    T::decode(code).ok_or_else(|| format!("{name} {code} is not one we know"))
}
