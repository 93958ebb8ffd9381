-- retry_instance.sql: the next attempt takes the row over; the last one is in attempt by now.
update instance_day set
    attempt = ?3, attempt_no = ?4, state = 4, retry_at = ?5, retries_used = ?6, target = null, ordered_at = null, started_at = null,
    why = null, uncertain_since = null, uncertain_why = null
where id = ?1 and attempt = ?2 and ended_at is null
