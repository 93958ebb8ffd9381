-- renew_leases.sql: every lease the server holds. In the order of shards, so that nobody waits in a circle; one that
-- was taken while we waited is another's. Not by the word of an earlier life.
with mine as (
    select shard from lease where server = $1 order by shard for update
)
update lease l set until = (extract(epoch from clock_timestamp()) * 1000000)::int8 + $2::int8
from mine where l.shard = mine.shard and l.server = $1
    and exists (select 1 from server where id = $1 and started_at = $3)
