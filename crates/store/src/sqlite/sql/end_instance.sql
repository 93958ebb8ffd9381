-- end_instance.sql: one run's update; only the current fence may end an instance, and only once.
update instance_day set
    state = ?3, reason = ?4, ended_by = ?5, ended_at = ?6, target = ?7, ordered_at = ?8, why = ?9,
    verdict = ?10, exit_code = ?11, message = ?12, outputs = ?13, started_at = coalesce(?14, started_at),
    cpu_us = ?15, peak_kb = ?16, log_bytes = ?17,
    retry_at = null, uncertain_since = null, uncertain_why = null, room = null
where id = ?1 and attempt = ?2 and ended_at is null
