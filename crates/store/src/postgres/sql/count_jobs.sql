-- count_jobs.sql: fires counted, for jobs with a maximum.
update job j set fired = r.fired from unnest($1::int8[], $2::int8[]) as r(id, fired) where j.id = r.id
