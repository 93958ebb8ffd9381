-- leave.sql: a server stops; what it holds is free, and the others are woken.
with gone as (
    update server set until = (extract(epoch from clock_timestamp()) * 1000000)::int8 where id = $1
), mine as (
    select shard from lease where server = $1 order by shard for update
), freed as (
    update lease l set server = null, until = (extract(epoch from clock_timestamp()) * 1000000)::int8
    from mine where l.shard = mine.shard and l.server = $1
)
select pg_notify('duly_' || id, '') from server where id <> $1
