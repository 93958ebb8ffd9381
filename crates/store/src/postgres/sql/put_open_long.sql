-- put_open_long.sql: open although below the low-water mark, as the mark is now.
insert into open_long (id, day, shard)
select r.id, r.day, s.id from unnest($1::int8[], $2::int8[]) as r(id, day), shard s
where s.id = $3 and r.id < s.low_water
on conflict do nothing
