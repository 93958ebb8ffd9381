-- put_jobs.sql: jobs as they are from now on. A removed job does not come back under its number.
insert into job (id, shard, tenant, name, version, rule, task, source, folder, mode, since, fired, changed_by, alias,
    labels)
select r.id, r.shard, r.tenant, r.name, r.version, r.rule, r.task, r.source, r.folder, r.mode, r.since, r.fired,
    r.changed_by, r.alias, r.labels
from unnest(
    $1::int8[], $2::int8[], $3::int8[], $4::text[], $5::int8[], $6::int8[], $7::int8[], $8::int8[], $9::text[], $10::int8[],
    $11::int8[], $12::int8[], $13::text[], $14::int8[], $15::text[]
) as r(shard, id, tenant, name, version, rule, task, source, folder, mode, since, fired, changed_by, alias, labels)
on conflict (id) do update set
    name = excluded.name, version = excluded.version, rule = excluded.rule, task = excluded.task,
    source = excluded.source, folder = excluded.folder, mode = excluded.mode, since = excluded.since,
    fired = excluded.fired, changed_by = excluded.changed_by, alias = excluded.alias, labels = excluded.labels
where job.removed_at is null and job.tenant = excluded.tenant and job.shard = excluded.shard
