-- put_unwell.sql: instances that ended otherwise than well, those of them that lists show.
insert into unwell (state, planned, id, tenant, day)
select state, planned, id, tenant, $2::int8 from instance_day where id = any($1::int8[]) and parent is null
