-- has_instance.sql: is there such an instance on this day? Its first attempt has its number.
select 1 from instance_day where id = $1
