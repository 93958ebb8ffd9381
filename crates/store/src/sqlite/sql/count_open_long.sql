-- count_open_long.sql: the same of what is open on one day although its id is old.
select state, count(*), sum(planned < ?3) from instance_day
where id in (select id from open_long where day = ?1) and id < ?4 and ended_at is null and parent is null and tenant = ?2
group by state
