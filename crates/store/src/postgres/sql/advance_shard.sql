-- advance_shard.sql: first in every commit; no row means that another owner has the shard.
update shard set batch = $3, horizon = $4, next_id = $5
where id = $1 and term = $2 and batch = $3::int8 - 1
