-- horizon.sql: up to where all is decided, of the shards that have jobs; if none has, of the one that is furthest.
select coalesce(
    (select min(horizon) from shard s where exists (select 1 from job where shard = s.id and removed_at is null)),
    (select max(horizon) from shard),
    0
)
