-- list_long_open.sql: what is open of the ids the low-water mark is about to pass.
insert into open_long (id, day, shard)
select id, $4::int8, shard from instance_day where id >= $2 and id < $3 and shard = $1::int8 and ended_at is null
on conflict do nothing
