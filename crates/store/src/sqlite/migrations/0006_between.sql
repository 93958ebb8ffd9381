-- 0006_between.sql: what shards tell one another and what their instances share.

-- Deleted by the commit of whoever was told.
create table outbox (
    id integer primary key autoincrement,
    to_shard integer not null,
    from_shard integer not null,
    body text not null
) strict;
create index outbox_to on outbox (to_shard, id);

-- Jobs of a shard that jobs of other shards follow; ends has a bit for each end they want to hear of.
create table follower (
    job integer not null,
    follower integer not null,
    shard integer not null,
    ends integer not null,
    primary key (job, follower)
) strict, without rowid;
create index follower_shard on follower (shard);

-- kind 1 is a mutex, 2 a counted resource. allowed is more than units while more is held than it has now.
create table resource (
    tenant integer not null,
    kind integer not null check (kind in (1, 2)),
    name text not null,
    units integer not null check (units >= 0),
    allowed integer not null check (allowed >= units),
    primary key (tenant, kind, name)
) strict, without rowid;

-- A line is what has its name, in the order of numbers; the held ones have what they stand for.
create table ticket (
    number integer primary key autoincrement,
    tenant integer not null,
    kind integer not null check (kind in (1, 2)),
    name text not null,
    shard integer not null,
    job integer not null,
    instance integer not null,
    ticket integer not null,
    units integer not null check (units > 0),
    held integer not null default 0 check (held in (0, 1)),
    at integer not null
) strict;
create index ticket_line on ticket (tenant, kind, name, held, number);
create unique index ticket_instance on ticket (instance, kind, name, tenant);
create index ticket_shard on ticket (shard);
