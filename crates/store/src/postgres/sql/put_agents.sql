-- put_agents.sql: agents as they are now.
insert into agent (id, tenant, name, pools, labels, slots, drained, joined_at, seen_at, version, executor, listed,
    serves)
select * from unnest(
    $1::int8[], $2::int8[], $3::text[], $4::text[], $5::text[], $6::int8[], $7::bool[], $8::int8[], $9::int8[],
    $10::text[], $11::int8[], $12::int8[], $13::text[]
)
on conflict (id) do update set
    tenant = excluded.tenant, name = excluded.name, pools = excluded.pools, labels = excluded.labels,
    slots = excluded.slots, drained = excluded.drained, joined_at = excluded.joined_at, seen_at = excluded.seen_at,
    version = excluded.version, executor = excluded.executor, listed = excluded.listed, serves = excluded.serves
