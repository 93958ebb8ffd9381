-- list_folders.sql: where a tenant's jobs lie, and how many in each.
select folder, count(*)
from job as j
where removed_at is null and tenant = ?1 and folder <> ''
    and (?2 is null or exists (
        select 1 from json_each(?2) as p
        where (p.value ->> 'folder' is null or j.folder = p.value ->> 'folder'
                or (j.folder >= (p.value ->> 'folder') || '/' and j.folder < (p.value ->> 'folder') || '0'))
            and not exists (
                select 1 from json_each(p.value, '$.labels') as l
                where not exists (select 1 from json_each(j.labels) as m where m.key = l.key and m.value = l.value))))
group by folder order by folder limit ?3
