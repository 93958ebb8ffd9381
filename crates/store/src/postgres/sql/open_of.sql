-- open_of.sql: of these, what is open on this day.
select * from instance_day where id = any($1::int8[]) and ended_at is null
