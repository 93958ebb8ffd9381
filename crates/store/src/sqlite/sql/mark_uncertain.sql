-- mark_uncertain.sql: what was open when the backup was made and may have started since.
update instance_day set uncertain_since = ?1, uncertain_why = ?2
where ended_at is null and uncertain_since is null
    and not (state = 0 and planned > ?1)
    and not (state = 4 and retry_at > ?1)
