-- advance_shards.sql: first in a commit of several batches. In the order of shards, so that nobody waits in a circle;
-- a row that is missing means that another owner has that shard.
with ours as (
    select s.id, r.batch, r.horizon, r.next_id
    from unnest($1::int8[], $2::int8[], $3::int8[], $4::int8[], $5::int8[]) as r(id, term, batch, horizon, next_id)
    join shard s on s.id = r.id
    where s.term = r.term and s.batch = r.batch - 1
    order by s.id for update of s
)
update shard s set batch = o.batch, horizon = o.horizon, next_id = o.next_id
from ours o where s.id = o.id
