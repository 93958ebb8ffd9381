-- count_open.sql: how much is open on one day from an id on, by state, and how much of it was planned before an instant.
select state, count(*), count(*) filter (where planned < $3) from instance_day
where id >= $1 and ended_at is null and parent is null and tenant = $2
group by state
