-- put_version.sql: a version is written once.
insert into job_version (id, job, rule, task, source, created_at, created_by)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7)
on conflict (id) do nothing
