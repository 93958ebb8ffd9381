-- open_since.sql: what is open on this day from an id on.
select * from instance_day where id >= $2 and shard = $1::int8 and ended_at is null
