-- stop_instance.sql: the intent to stop, before any signal.
update instance_day set stopping_by = ?2, stopping_at = ?3 where id = ?1 and ended_at is null
