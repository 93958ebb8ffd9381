-- 0004_executors.sql: applications that are called instead of dialling in. executor is null for agents, else 1 for one
-- that was there when last heard of, plus 2 for one that was seen to say busy, plus 4 for one that keeps logs; listed is its place in its pool's list.
alter table agent add column executor integer;
alter table agent add column listed integer;
alter table pool add column addresses text not null default '[]';

-- Small numbers of jobs, for protocols that have no room for an id; 0 for none.
alter table job add column alias integer not null default 0;
create unique index job_alias on job (alias) where alias <> 0;
insert into meta (key, value) values ('next_alias', 1);

-- What executors show and are shown. Kept readable, because it must be shown to them too.
create table executor_token (
    id integer primary key autoincrement,
    token text not null unique,
    tenant integer not null,
    pool text,
    created_at integer not null,
    created_by text not null
) strict;
