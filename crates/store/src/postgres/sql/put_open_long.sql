-- put_open_long.sql: open although below the low-water mark, as the mark is now.
insert into open_long (id, day, shard)
select r.id, r.day, s.id from unnest($1::int8[], $2::int8[], $3::int8[]) as r(id, day, shard) join shard s on s.id = r.shard
where r.id < s.low_water
on conflict do nothing
