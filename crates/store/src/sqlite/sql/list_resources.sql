-- list_resources.sql: everything that is shared, how much of it is held, and how many wait.
select r.tenant, r.kind, r.name, r.units, r.allowed,
    coalesce(sum(t.units) filter (where t.held), 0), count(t.number) filter (where not t.held)
from resource r
left join ticket t on t.tenant = r.tenant and t.kind = r.kind and t.name = r.name
group by r.tenant, r.kind, r.name
order by r.tenant, r.kind, r.name
