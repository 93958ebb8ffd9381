-- list_of_job.sql: a page of one job's instances of one day, newest first; a null parent leaves children out.
select * from instance_day
where job = $1 and planned >= $2 and planned <= $3 and (planned < $3 or id < $4)
    and parent is not distinct from $5::int8 and ($6::int8 is null or tenant = $6)
    and ($7::int8 & (1::int8 << state)) <> 0
    and ($9::int8 is null or target = $9) and ($10::int8 is null or cause = $10)
order by planned desc, id desc limit $8
