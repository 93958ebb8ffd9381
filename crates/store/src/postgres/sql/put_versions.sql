-- put_versions.sql: a version is written once, and what it names is referred to once more. Answers with one row if all
-- of that is there.
with fresh as (
    insert into job_version (id, job, rule, task, source, created_at, created_by)
    select * from unnest($1::int8[], $2::int8[], $3::int8[], $4::int8[], $5::int8[], $6::int8[], $7::text[])
    on conflict (id) do nothing
    returning rule, task, source
), named as (
    select id, count(*) as more from fresh, unnest(array[rule, task, source]) as n(id) group by id order by id
), referred as (
    update content c set refs = c.refs + n.more from named n where c.id = n.id returning c.id
)
select 1 where (select count(*) from named) = (select count(*) from referred)
