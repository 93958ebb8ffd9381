-- list_of_state.sql: the newest of one day that ended in one way that is not the ordinary one.
select planned, id from instance_day
where state = ?1 and state > 10 and planned >= ?2 and planned <= ?3 and (planned < ?3 or id < ?4)
    and parent is null and (?5 is null or tenant = ?5)
order by planned desc, id desc limit ?6
