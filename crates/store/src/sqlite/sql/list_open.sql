-- list_open.sql: what is open on one day from an id on.
select planned, id from instance_day
where id >= ?1 and ended_at is null and planned >= ?2 and planned <= ?3 and (planned < ?3 or id < ?4)
    and parent is null and (?5 is null or tenant = ?5) and (?6 & (1 << state)) != 0
    and (?8 is null or exists (
        select 1 from job as j, json_each(?8) as p
        where j.id = instance_day.job and (p.value ->> 'folder' is null or j.folder = p.value ->> 'folder'
                or (j.folder >= (p.value ->> 'folder') || '/' and j.folder < (p.value ->> 'folder') || '0'))
            and not exists (
                select 1 from json_each(p.value, '$.labels') as l
                where not exists (select 1 from json_each(j.labels) as m where m.key = l.key and m.value = l.value))))
    and (?9 is null or target = ?9) and (?10 is null or cause = ?10)
order by planned desc, id desc limit ?7
