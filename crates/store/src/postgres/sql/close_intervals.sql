-- close_intervals.sql: what jobs were, they are no longer.
update job_interval i set until = r.until from unnest($1::int8[], $2::int8[]) as r(job, until)
where i.job = r.job and i.until is null
