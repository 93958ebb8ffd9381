-- put_resource.sql: a resource has so many units from now on; what is held beyond that was allowed when it was let through.
update resource r set units = $4, allowed = greatest($4, coalesce((
    select sum(t.units) from ticket t
    where t.tenant = r.tenant and t.kind = r.kind and t.name = r.name and t.held
), 0)::int8)
where r.tenant = $1 and r.kind = $2 and r.name = $3
