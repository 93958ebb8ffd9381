-- create_day.sql: the instances planned on one day; no index on anything that changes. Half of each page is left for
-- what the endings write, so that an update stays within its page and touches no index. Made apart and then attached,
-- which holds up nobody who reads or writes other days.
create table instance_day (
    like instance including defaults including constraints,
    constraint instance_day_pk primary key (id)
) with (fillfactor = 45);
create unique index instance_day_ledger on instance_day (job, planned, part);
alter table instance attach partition instance_day for values from (first_instant) to (last_instant);
