-- progress_instance.sql: how far an open instance has come.
update instance_day set
    state = ?3, target = ?4, ordered_at = ?5, started_at = ?6, why = ?7, uncertain_since = ?8, uncertain_why = ?9
where id = ?1 and attempt = ?2 and ended_at is null
