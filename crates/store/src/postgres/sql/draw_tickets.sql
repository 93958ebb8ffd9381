-- draw_tickets.sql: an instance stands in the line of each thing it needs.
insert into ticket (tenant, kind, name, units, shard, instance, ticket, at, job)
select $1, n.kind, n.name, n.units, $5, $6, $7, $8, $9
from unnest($2::int8[], $3::text[], $4::int8[]) as n(kind, name, units)
