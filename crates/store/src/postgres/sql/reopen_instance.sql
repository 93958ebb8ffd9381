-- reopen_instance.sql: an ended instance is ready again under a new attempt.
update instance_day set
    attempt = $2, attempt_no = $3::int8, retries_used = 0, state = 1,
    target = null, ordered_at = null, started_at = null, ended_at = null,
    retry_at = null, verdict = null, reason = null, ended_by = null, exit_code = null, message = null, outputs = null,
    cpu_us = null, peak_kb = null, log_bytes = null, why = null, stopping_by = null, stopping_at = null,
    uncertain_since = null, uncertain_why = null
where id = $1 and ended_at is not null
