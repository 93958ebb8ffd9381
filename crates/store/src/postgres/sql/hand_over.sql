-- hand_over.sql: what we hold is the next one's, or nobody's; not if this arrives too late, or the server has started
-- again since: whoever is just saying so is waited for.
with alive as (
    select id from server where id = $1 and started_at = $6 for share
), mine as (
    select l.shard from lease l join alive on l.server = alive.id
    where l.shard = any($2::int8[])
        and (extract(epoch from clock_timestamp()) * 1000000)::int8 <= $5::int8
    order by l.shard for update of l
), given as (
    update lease l set
        server = $3::int8,
        until = (extract(epoch from clock_timestamp()) * 1000000)::int8
            + case when $3::int8 is null then 0 else $4::int8 end
    from mine where l.shard = mine.shard and l.server = $1
)
select pg_notify('duly_' || $3::int8, '') where $3::int8 is not null
