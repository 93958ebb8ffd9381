-- 0005_shards.sql: which shard each range of ids was lent to. Until now there was one, and it had them all.
create table lent (
    first integer primary key,
    until integer not null check (until > first),
    shard integer not null
) strict;

insert into lent (first, until, shard) select 1, next, 0 from counter where next > 1;

-- Raised with every change to agents, pools and limits: who keeps them in memory sees that they changed.
insert into meta (key, value) values ('revision', 0);
