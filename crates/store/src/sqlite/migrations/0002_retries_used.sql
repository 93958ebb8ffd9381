-- 0002_retries_used.sql: an instance says how many retries of its job's policy it has used, so that a rerun or a
-- redelivery does not count as one after a restart. What is open keeps what it was thought to have used.
alter table instance_day add column retries_used integer not null default 0;

update instance_day set retries_used = attempt_no - 1
where (id >= (select min(low_water) from shard) or id in (select id from open_long))
    and attempt_no > 1 and ended_at is null;
