-- place_instances.sql: another target for what has not been sent; it is sent right after.
update instance_day i set
    target = r.target, why = coalesce(r.note, i.why), state = case when r.target is null then i.state else 2 end
from unnest($1::int8[], $2::int8[], $3::int8[], $4::text[]) as r(id, attempt, target, note)
where i.id = r.id and i.attempt = r.attempt and i.ended_at is null
