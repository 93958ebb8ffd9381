-- open_since.sql: what is open on this day from the shard's low-water mark on.
select * from instance_day
where id >= (select low_water from shard where id = ?1) and shard = ?1 and ended_at is null
