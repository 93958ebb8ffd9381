-- take_leases.sql: those that are free, ours, or whose holder has been silent for too long.
with wanted as (
    select shard from lease
    where shard = any($2::int8[]) and (
        server is null or server = $1
        or until + $4::int8 < (extract(epoch from clock_timestamp()) * 1000000)::int8
    )
    order by shard for update
)
update lease l set server = $1, until = (extract(epoch from clock_timestamp()) * 1000000)::int8 + $3::int8
from wanted where l.shard = wanted.shard
returning l.shard
