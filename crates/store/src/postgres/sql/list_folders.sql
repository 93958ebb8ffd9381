-- list_folders.sql: where a tenant's jobs lie, and how many in each.
select folder, count(*)
from job as j
where removed_at is null and tenant = $1 and folder <> ''
    and ($2::text is null or exists (
        select 1 from jsonb_array_elements($2::text::jsonb) as p(value)
        where (p.value ->> 'folder' is null or j.folder = p.value ->> 'folder'
                or (j.folder >= (p.value ->> 'folder') || '/' and j.folder < (p.value ->> 'folder') || '0'))
            and j.labels::jsonb @> (p.value -> 'labels')))
group by folder order by folder collate "C" limit $3
