-- 0007_tenants.sql: who owns what. state 1 is active, 2 closing; where a quota is null there is none.
create table tenant (
    id integer primary key,
    name text not null unique,
    weight integer not null check (weight > 0),
    jobs_max integer,
    running_max integer,
    starts_per_second integer,
    log_bytes_max integer,
    history_days integer,
    private_network integer not null check (private_network in (0, 1)),
    state integer not null check (state in (1, 2)),
    created_at integer not null,
    created_by text not null,
    exported_at integer,
    exported text
) strict;

-- Everything belonged to it before there were others.
insert into tenant (id, name, weight, private_network, state, created_at, created_by)
values (1, 'default', 1, 1, 1, unixepoch() * 1000000, 'duly');
