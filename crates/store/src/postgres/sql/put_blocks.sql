-- put_blocks.sql: widens what blocks of ids are known to hold.
insert into block (no, day, shard, planned_from, planned_until)
select r.no, r.day, r.shard, r.planned_from, r.planned_until
from unnest($1::int8[], $2::int8[], $3::int8[], $4::int8[], $5::int8[]) as r(shard, no, day, planned_from, planned_until)
on conflict (no, day, shard) do update set
    planned_from = least(block.planned_from, excluded.planned_from),
    planned_until = greatest(block.planned_until, excluded.planned_until)
