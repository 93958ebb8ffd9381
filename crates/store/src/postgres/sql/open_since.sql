-- open_since.sql: what is open on this day from an id on. Only blocks of ids that hold something of the shard are looked at:
-- what others made meanwhile costs nothing.
select i.* from block as b, instance_day as i
where b.shard = $1 and b.day = $3 and b.no >= $2::int8 >> 12
    and i.id >= b.no << 12 and i.id < (b.no + 1) << 12 and i.id >= $2 and i.shard = $1::int8 and i.ended_at is null
