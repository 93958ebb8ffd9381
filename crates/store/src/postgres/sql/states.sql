-- states.sql: how many of what was planned in a window are in which state, within a range of ids.
select state, count(*) from instance_day
where id >= $1 and id < $2 and planned >= $3 and planned < $4 and parent is null
    and ($5::int8 is null or tenant = $5)
group by state
