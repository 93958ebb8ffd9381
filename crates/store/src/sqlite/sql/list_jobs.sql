-- list_jobs.sql: a page of jobs by name.
select id, tenant, name, version, rule, task, source, folder, mode, since, fired, changed_by, alias, labels
from job as j
where removed_at is null and (name, id) > (?1, ?2)
    and (?3 is null or tenant = ?3)
    and (?4 is null or folder = ?4 or (folder >= ?4 || '/' and folder < ?4 || '0'))
    and (?5 is null or instr(lower(name), ?5) > 0)
    and (?6 is null or mode = ?6)
    and (?8 is null or exists (
        select 1 from json_each(?8) as p
        where (p.value ->> 'folder' is null or j.folder = p.value ->> 'folder'
                or (j.folder >= (p.value ->> 'folder') || '/' and j.folder < (p.value ->> 'folder') || '0'))
            and not exists (
                select 1 from json_each(p.value, '$.labels') as l
                where not exists (select 1 from json_each(j.labels) as m where m.key = l.key and m.value = l.value))))
order by name, id limit ?7
