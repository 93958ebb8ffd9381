-- leave.sql: a server stops; what it holds is free, and the others are woken: each is next in line for a share of it. One that
-- has started again since stays.
with gone as (
    update server set until = (extract(epoch from clock_timestamp()) * 1000000)::int8
    where id = $1 and started_at = $2
    returning id
), mine as (
    select l.shard from lease l join gone on l.server = gone.id order by l.shard for update of l
), freed as (
    update lease l set server = null, until = (extract(epoch from clock_timestamp()) * 1000000)::int8
    from mine where l.shard = mine.shard and l.server = $1
)
select pg_notify('duly_' || id, '') from server where id <> $1
