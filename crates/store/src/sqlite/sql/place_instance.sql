-- place_instance.sql: another target for what has not been sent; it is sent right after.
update instance_day set target = ?3, why = coalesce(?4, why), state = iif(?3 is null, state, 2)
where id = ?1 and attempt = ?2 and ended_at is null
