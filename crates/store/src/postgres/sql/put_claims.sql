-- put_claims.sql: the first to ask holds it. In the order of names, so that two who ask for the same ones never wait
-- for each other.
insert into claim (kind, tenant, name, holder, at)
select * from unnest($1::int8[], $2::int8[], $3::text[], $4::int8[], $5::int8[])
on conflict do nothing
