-- old_versions.sql: versions that no job, no kept interval and no kept instance has. A job that lives keeps its newest
-- thirty all the same: somebody may want to go back.
select id, rule, task, source from job_version v
where created_at < $1 and (kept_day is null or kept_day < $2)
    and not exists (select 1 from job j where j.id = v.job and j.version = v.id and j.removed_at is null)
    and not exists (select 1 from job_interval i where i.version = v.id)
    and (not exists (select 1 from job j where j.id = v.job and j.removed_at is null)
        or (select count(*) from job_version n where n.job = v.job and n.id > v.id) >= 30)
limit $3
