-- get_instance.sql: one instance.
select * from instance_day where id = ?1
