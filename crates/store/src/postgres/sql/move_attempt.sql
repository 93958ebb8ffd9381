-- move_attempt.sql: the last attempt of an instance that is opened again.
insert into attempt (
    id, instance, day, number, target, ordered_at, verdict, exit_code, message, outputs, started_at, ended_at,
    cpu_us, peak_kb, log_bytes, reopened_by, reopened_at
)
select attempt, id, $2::int8, attempt_no, target, ordered_at, $3::int8, exit_code, coalesce(message, why), outputs,
    started_at, ended_at, cpu_us, peak_kb, log_bytes, $4::text, $5::int8
from instance_day where id = $1
