-- put_gaps.sql: planned times that became no instance.
insert into gap (shard, job, tenant, first, last, count, fate, reason, instance, why)
select r.* from unnest(
    $1::int8[], $2::int8[], $3::int8[], $4::int8[], $5::int8[], $6::int8[], $7::int8[], $8::int8[], $9::int8[], $10::text[]
) as r
