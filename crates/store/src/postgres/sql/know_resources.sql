-- know_resources.sql: names nobody has used before get their row, in order, so that there is something to lock.
insert into resource (tenant, kind, name, units, allowed)
select n.tenant, n.kind, n.name, n.units, n.units
from unnest($1::int8[], $2::int8[], $3::text[], $4::int8[]) as n(tenant, kind, name, units)
order by n.tenant, n.kind, n.name collate "C"
on conflict do nothing
