-- put_unwell.sql: an instance that ended otherwise than well, if it is one that lists show.
insert into unwell (state, planned, id, tenant)
select state, planned, id, tenant from instance_day where id = ?1 and parent is null
