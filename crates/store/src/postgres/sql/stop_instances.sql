-- stop_instances.sql: the intent to stop, before any signal.
update instance_day i set stopping_by = r.by, stopping_at = r.at
from unnest($1::int8[], $2::text[], $3::int8[]) as r(id, by, at)
where i.id = r.id and i.ended_at is null
