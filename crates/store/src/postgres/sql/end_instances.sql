-- end_instances.sql: the updates of a batch's runs; only the current fence may end an instance, and only once.
update instance_day i set
    state = r.state, reason = r.reason, ended_by = r.ended_by, ended_at = r.ended_at, target = r.target,
    ordered_at = r.ordered_at, why = r.why, verdict = r.verdict, exit_code = r.exit_code, message = r.message,
    outputs = r.outputs, started_at = coalesce(r.started_at, i.started_at), cpu_us = r.cpu_us, peak_kb = r.peak_kb,
    log_bytes = r.log_bytes, retry_at = null, uncertain_since = null, uncertain_why = null
from unnest(
    $1::int8[], $2::int8[], $3::int8[], $4::int8[], $5::text[], $6::int8[], $7::int8[], $8::int8[], $9::text[],
    $10::int8[], $11::int8[], $12::text[], $13::text[], $14::int8[], $15::int8[], $16::int8[], $17::int8[]
) as r(id, attempt, state, reason, ended_by, ended_at, target, ordered_at, why, verdict, exit_code, message, outputs,
    started_at, cpu_us, peak_kb, log_bytes)
where i.id = r.id and i.attempt = r.attempt and i.ended_at is null
