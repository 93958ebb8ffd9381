-- 0002_shards.sql: which shard each range of ids was lent to. Until now there was one, and it had them all.
create table lent (
    first int8 primary key,
    until int8 not null check (until > first),
    shard int8 not null
);

insert into lent (first, until, shard) select 1, next, 0 from counter where next > 1;

-- Raised with every change to agents, pools and limits: who keeps them in memory sees that they changed.
insert into meta (key, value) values ('revision', '0');

-- The servers of this installation, and until when each says it is there. Weight and draining are people's.
create table server (
    id int8 primary key,
    name text not null,
    api text not null,
    agents text not null,
    peer text not null,
    version text not null,
    weight int4 not null check (weight >= 0),
    draining bool not null,
    started_at int8 not null,
    until int8 not null
) with (fillfactor = 50);

-- Who may own each shard, and until when. Not in the shard's own row: that one is locked by every commit.
create table lease (
    shard int8 primary key,
    server int8,
    until int8 not null default 0
) with (fillfactor = 50);
