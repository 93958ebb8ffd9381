-- create_day.sql: the instances planned on one day. A row is the ledger entry of its planned time; no index on anything
-- that changes in a plain run: the second one holds only what ended otherwise than well.
create table if not exists instance_day (
    id integer primary key,
    shard integer not null,
    tenant integer not null,
    job integer not null,
    version integer not null,
    planned integer not null,
    part integer not null,
    parts integer not null,
    parent integer,
    cause integer not null,
    cause_ref integer,
    cause_by text,
    params integer,
    state integer not null,
    attempt integer not null,
    attempt_no integer not null,
    target integer,
    created_at integer not null,
    ordered_at integer,
    started_at integer,
    ended_at integer,
    retry_at integer,
    verdict integer,
    reason integer,
    ended_by text,
    exit_code integer,
    message text,
    outputs text,
    cpu_us integer,
    peak_kb integer,
    log_bytes integer,
    why text,
    stopping_by text,
    stopping_at integer,
    uncertain_since integer,
    uncertain_why text,
    check ((ended_at is null) = (state < 10))
) strict;

create unique index if not exists instance_day_ledger on instance_day (job, planned, part);
create index if not exists instance_day_unwell on instance_day (state, planned) where state > 10;
