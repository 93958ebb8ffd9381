-- progress_instances.sql: how far open instances have come.
update instance_day i set
    state = r.state, target = r.target, ordered_at = r.ordered_at, started_at = r.started_at, why = r.why,
    uncertain_since = r.uncertain_since, uncertain_why = r.uncertain_why
from unnest(
    $1::int8[], $2::int8[], $3::int8[], $4::int8[], $5::int8[], $6::int8[], $7::text[], $8::int8[], $9::text[]
) as r(id, attempt, state, target, ordered_at, started_at, why, uncertain_since, uncertain_why)
where i.id = r.id and i.attempt = r.attempt and i.ended_at is null
