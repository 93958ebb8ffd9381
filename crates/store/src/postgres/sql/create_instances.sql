-- create_instances.sql: the inserts of a batch's runs; unique by job, planned time and part.
insert into instance_day (
    id, shard, tenant, job, version, planned, part, parts, parent, cause, cause_ref, cause_by, params,
    state, attempt, attempt_no, target, created_at
)
select r.id, r.shard, r.tenant, r.job, r.version, r.planned, r.part, r.parts, r.parent, r.cause, r.cause_ref,
    r.cause_by, r.params, r.state, r.attempt, 1, r.target, r.created_at
from unnest(
    $1::int8[], $2::int8[], $3::int8[], $4::int8[], $5::int8[], $6::int8[], $7::int8[], $8::int8[], $9::int8[], $10::int8[],
    $11::int8[], $12::text[], $13::int8[], $14::int8[], $15::int8[], $16::int8[], $17::int8[]
) as r(shard, id, tenant, job, version, planned, part, parts, parent, cause, cause_ref, cause_by, params, state, attempt,
    target, created_at)
