-- same_versions.sql: a row for each version that says what it is said to say.
select 1 from job_version v
join unnest($1::int8[], $2::int8[], $3::int8[], $4::int8[], $5::int8[]) as r(id, job, rule, task, source)
    on v.id = r.id and v.job = r.job and v.rule = r.rule and v.task = r.task and v.source = r.source
