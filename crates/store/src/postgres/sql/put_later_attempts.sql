-- put_later_attempts.sql: which instance an attempt after the first belongs to.
insert into later_attempt (id, instance, day) select * from unnest($1::int8[], $2::int8[], $3::int8[])
