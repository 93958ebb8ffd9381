-- list_of_block.sql: the newest of one block of ids of one day.
select planned, id from instance_day
where id >= ?1 and id < ?2 and planned >= ?3 and planned <= ?4 and (planned < ?4 or id < ?5)
    and parent is null and (?6 is null or tenant = ?6) and (?7 & (1 << state)) != 0
    and (?9 is null or exists (
        select 1 from job as j, json_each(?9) as p
        where j.id = instance_day.job and (p.value ->> 'folder' is null or j.folder = p.value ->> 'folder'
                or (j.folder >= (p.value ->> 'folder') || '/' and j.folder < (p.value ->> 'folder') || '0'))
            and not exists (
                select 1 from json_each(p.value, '$.labels') as l
                where not exists (select 1 from json_each(j.labels) as m where m.key = l.key and m.value = l.value))))
    and (?10 is null or target = ?10) and (?11 is null or cause = ?11)
order by planned desc, id desc limit ?8
