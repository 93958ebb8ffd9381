-- put_agent.sql: an agent as it is now.
insert into agent (id, tenant, name, pools, labels, slots, drained, joined_at, seen_at, version, executor, listed,
    serves)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
on conflict (id) do update set
    tenant = excluded.tenant, name = excluded.name, pools = excluded.pools, labels = excluded.labels,
    slots = excluded.slots, drained = excluded.drained, joined_at = excluded.joined_at, seen_at = excluded.seen_at,
    version = excluded.version, executor = excluded.executor, listed = excluded.listed, serves = excluded.serves
