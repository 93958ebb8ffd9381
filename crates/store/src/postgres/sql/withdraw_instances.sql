-- withdraw_instances.sql: takes back rows whose time has not come.
delete from instance_day where id = any($1::int8[]) and state = 0 and ended_at is null
