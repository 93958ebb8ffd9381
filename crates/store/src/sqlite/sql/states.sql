-- states.sql: the states of what was planned in a window, within a range of ids.
select state from instance_day
where id >= ?1 and id < ?2 and planned >= ?3 and planned < ?4 and parent is null
    and (?5 is null or tenant = ?5)
