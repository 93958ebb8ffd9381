-- old_versions.sql: versions that no job, no kept interval and no kept instance has.
select id, rule, task, source from job_version v
where created_at < ?1 and (kept_day is null or kept_day < ?2)
    and not exists (select 1 from job j where j.id = v.job and j.version = v.id and j.removed_at is null)
    and not exists (select 1 from job_interval i where i.version = v.id)
limit ?3
