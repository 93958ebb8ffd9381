-- withdraw_instance.sql: takes back a row whose time has not come.
delete from instance_day where id = ?1 and state = 0 and ended_at is null
