-- put_intervals.sql: begins intervals with what the jobs are now. One that began at the same instant decided nothing.
insert into job_interval (job, since, version, rule, mode, tenant, name)
select id, since, version, rule, mode, tenant, name from job where id = any($1::int8[])
on conflict (job, since) do update set
    until = null, version = excluded.version, rule = excluded.rule, mode = excluded.mode, name = excluded.name
