-- get_instances.sql: instances by number.
select * from instance_day where id = any($1::int8[])
