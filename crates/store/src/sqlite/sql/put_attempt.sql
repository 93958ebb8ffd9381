-- put_attempt.sql: an attempt that another one follows.
insert into attempt (
    id, instance, day, number, target, ordered_at, verdict, exit_code, message, outputs, started_at, ended_at,
    cpu_us, peak_kb, log_bytes, reopened_by, reopened_at
) values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)
