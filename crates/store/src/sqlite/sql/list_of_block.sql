-- list_of_block.sql: the newest of one block of ids of one day.
select planned, id from instance_day
where id >= ?1 and id < ?2 and planned >= ?3 and planned <= ?4 and (planned < ?4 or id < ?5)
    and parent is null and (?6 is null or tenant = ?6) and (?7 & (1 << state)) != 0
order by planned desc, id desc limit ?8
