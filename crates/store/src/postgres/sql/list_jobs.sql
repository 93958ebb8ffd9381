-- list_jobs.sql: a page of jobs by name.
select id, tenant, name, version, rule, task, source, folder, mode, since, fired, changed_by, alias, labels
from job as j
where removed_at is null and (name, id) > ($1::text collate "C", $2::int8)
    and ($3::int8 is null or tenant = $3)
    and ($4::text is null or folder = $4 or (folder >= $4 || '/' and folder < $4 || '0'))
    and ($5::text is null or position($5 in lower(name)) > 0)
    and ($6::int8 is null or mode = $6)
    and ($8::text is null or exists (
        select 1 from jsonb_array_elements($8::text::jsonb) as p(value)
        where (p.value ->> 'folder' is null or j.folder = p.value ->> 'folder'
                or (j.folder >= (p.value ->> 'folder') || '/' and j.folder < (p.value ->> 'folder') || '0'))
            and j.labels::jsonb @> (p.value -> 'labels')))
order by name, id limit $7
