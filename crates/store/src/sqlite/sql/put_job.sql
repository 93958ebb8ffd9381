-- put_job.sql: a job as it is from now on. A removed job does not come back under its number.
insert into job (id, shard, tenant, name, version, rule, task, source, folder, mode, since, fired, changed_by,
    alias, labels)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)
on conflict (id) do update set
    name = excluded.name, version = excluded.version, rule = excluded.rule, task = excluded.task,
    source = excluded.source, folder = excluded.folder, mode = excluded.mode, since = excluded.since,
    fired = excluded.fired, changed_by = excluded.changed_by, alias = excluded.alias, labels = excluded.labels
where removed_at is null and tenant = excluded.tenant and shard = excluded.shard
