-- line_held.sql: how much there is of something, and how much of it is held.
select r.units, (
    select coalesce(sum(t.units), 0) from ticket t
    where t.tenant = r.tenant and t.kind = r.kind and t.name = r.name and t.held = 1
)
from resource r
where r.tenant = ?1 and r.kind = ?2 and r.name = ?3
