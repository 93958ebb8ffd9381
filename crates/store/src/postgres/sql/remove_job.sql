-- remove_job.sql: the job fires no more; its name is free.
with gone as (
    update job set removed_at = $2, removed_by = $3 where id = $1 and tenant = $4 and removed_at is null
    returning id, tenant, name
), freed as (
    delete from claim c using gone g where c.kind = 1 and c.tenant = g.tenant and c.name = g.name and c.holder = g.id
)
select id from gone
