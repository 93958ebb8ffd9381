-- 0004_tenants.sql: who owns what. state 1 is active, 2 closing; where a quota is null there is none.
create table tenant (
    id int8 primary key,
    name text collate "C" not null unique,
    weight int8 not null check (weight > 0),
    jobs_max int8,
    running_max int8,
    starts_per_second int8,
    log_bytes_max int8,
    history_days int8,
    private_network bool not null,
    state int8 not null check (state in (1, 2)),
    created_at int8 not null,
    created_by text not null,
    exported_at int8,
    exported text
);

-- Everything belonged to it before there were others.
insert into tenant (id, name, weight, private_network, state, created_at, created_by)
values (1, 'default', 1, true, 1, (extract(epoch from clock_timestamp()) * 1000000)::int8, 'duly');
