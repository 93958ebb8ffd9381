-- mode_jobs.sql: jobs paused, resumed, enabled or disabled.
update job j set mode = r.mode, since = r.since, fired = r.fired, changed_by = r.by
from unnest($1::int8[], $2::int8[], $3::int8[], $4::int8[], $5::text[]) as r(id, mode, since, fired, by)
where j.id = r.id and j.removed_at is null
