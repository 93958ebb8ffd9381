-- retry_instances.sql: the next attempts take the rows over; the last ones are in attempt by now.
update instance_day i set
    attempt = r.next, attempt_no = r.attempt_no, state = 4, retry_at = r.retry_at, retries_used = r.retries_used,
    target = null, ordered_at = null, started_at = null, why = null, uncertain_since = null, uncertain_why = null
from unnest($1::int8[], $2::int8[], $3::int8[], $4::int8[], $5::int8[], $6::int8[])
    as r(id, attempt, next, attempt_no, retry_at, retries_used)
where i.id = r.id and i.attempt = r.attempt and i.ended_at is null
