-- put_notes.sql: what people are told.
insert into note (shard, at, job, instance, kind, detail)
select r.* from unnest($1::int8[], $2::int8[], $3::int8[], $4::int8[], $5::int8[], $6::int8[]) as r
