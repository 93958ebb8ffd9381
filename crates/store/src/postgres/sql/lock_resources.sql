-- lock_resources.sql: the lines of a batch, always in the same order, so that no two batches wait for each other.
select 1 from resource r
join unnest($1::int8[], $2::int8[], $3::text[]) as n(tenant, kind, name)
    on r.tenant = n.tenant and r.kind = n.kind and r.name = n.name
order by r.tenant, r.kind, r.name
for update of r
