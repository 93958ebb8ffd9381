-- release_old_names.sql: jobs that are about to have another name free the one they have.
delete from claim c using unnest($1::int8[], $2::text[]) as r(id, name), job j
where j.id = r.id and j.removed_at is null and j.name <> r.name collate "C"
    and c.kind = 1 and c.tenant = j.tenant and c.name = j.name and c.holder = j.id
