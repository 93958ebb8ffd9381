-- list_unwell.sql: the newest that ended in one way that is not the ordinary one.
select planned, id from unwell
where state = $1::int8 and planned >= $2 and (planned, id) < ($3, $4) and ($5::int8 is null or tenant = $5)
order by planned desc, id desc limit $6
