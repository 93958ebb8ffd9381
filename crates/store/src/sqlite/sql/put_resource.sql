-- put_resource.sql: a resource has so many units from now on; what is held beyond that was allowed when it was let through.
insert into resource (tenant, kind, name, units, allowed) values (?1, ?2, ?3, ?4, ?4)
on conflict do update set
    units = excluded.units,
    allowed = max(excluded.units, (
        select coalesce(sum(t.units), 0) from ticket t
        where t.tenant = ?1 and t.kind = ?2 and t.name = ?3 and t.held = 1
    ))
