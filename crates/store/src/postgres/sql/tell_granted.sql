-- tell_granted.sql: shards whose instances were let through by another's batch hear of it.
insert into outbox (to_shard, from_shard, body)
select g.shard, $1, g.body from unnest($2::int8[], $3::text[]) as g(shard, body)
