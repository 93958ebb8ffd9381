-- thin_day.sql: some rows of a day that is being dropped.
delete from instance_day where id in (select id from instance_day order by id limit ?1)
