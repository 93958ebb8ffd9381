-- holders.sql: who holds what was asked for.
select c.kind, c.tenant, c.name, c.holder
from unnest($1::int8[], $2::int8[], $3::text[]) as r(kind, tenant, name)
join claim c on c.kind = r.kind and c.tenant = r.tenant and c.name = r.name collate "C"
