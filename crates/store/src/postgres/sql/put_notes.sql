-- put_notes.sql: what people are told.
insert into note (shard, at, job, instance, kind, detail)
select $1::int8, r.* from unnest($2::int8[], $3::int8[], $4::int8[], $5::int8[], $6::int8[]) as r
