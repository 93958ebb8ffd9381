-- put_claim.sql: the first to ask holds it.
insert into claim (kind, tenant, name, holder, at) values (?1, ?2, ?3, ?4, ?5) on conflict do nothing
