-- put_gap.sql: planned times that became no instance.
insert into gap (shard, job, tenant, first, last, count, fate, reason, instance, why)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
