-- grant_tickets.sql: each of these lines lets through as many as fit into what is free, in order, never past one that
-- does not fit yet.
with free as (
    select r.tenant, r.kind, r.name, r.units - coalesce((
        select sum(t.units) from ticket t
        where t.tenant = r.tenant and t.kind = r.kind and t.name = r.name and t.held
    ), 0) as units
    from resource r
    join unnest($1::int8[], $2::int8[], $3::text[]) as n(tenant, kind, name)
        on r.tenant = n.tenant and r.kind = n.kind and r.name = n.name
), through as (
    select w.number
    from free f
    cross join lateral (
        select first.number, sum(first.units) over (order by first.number) as units
        from (
            select t.number, t.units from ticket t
            where t.tenant = f.tenant and t.kind = f.kind and t.name = f.name and not t.held
            order by t.number
            limit greatest(f.units, 0)
        ) as first
    ) as w
    where w.units <= f.units
)
update ticket t set held = true
from through
where t.number = through.number
returning t.number, t.shard, t.instance, t.ticket, t.kind, t.name
