-- open_instance.sql: one that is open long.
select * from instance_day where id = ?1 and ended_at is null
