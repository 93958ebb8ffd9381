-- 0001_begin.sql: everything a fresh store holds, but for the instances, whose tables are made day by day (create_day.sql).
-- Times are microseconds UTC; small numbers for states, causes and the like are explained in code.rs.

create table meta (
    key text primary key,
    value any
) strict, without rowid;

insert into meta (key, value) values ('installation', lower(hex(randomblob(16))));

-- The one source of ids.
create table counter (
    id integer primary key check (id = 1),
    next integer not null
) strict;

insert into counter (id, next) values (1, 1);

-- Written first in every commit. Every instance of the shard below low_water has ended or is in open_long.
create table shard (
    id integer primary key,
    term integer not null,
    batch integer not null,
    horizon integer not null,
    next_id integer not null,
    low_water integer not null default 0
) strict;

create table open_long (
    id integer primary key,
    day integer not null,
    shard integer not null
) strict;

create index open_long_day on open_long (day);

-- Days that have a table of instances. One that is being dropped is no longer read.
create table day (
    day integer primary key,
    dropping integer not null default 0 check (dropping in (0, 1))
) strict;

-- Which planned times the instances of one block of 4096 ids have at most: finds the newest rows of a day, and the day
-- of an id, without a further index on the instances.
create table block (
    no integer not null,
    day integer not null,
    planned_from integer not null,
    planned_until integer not null,
    primary key (no, day)
) strict, without rowid;

create index block_newest on block (day, planned_until);

-- What ended otherwise than well, so that it is found without an index that every run would pay for.
create table unwell (
    state integer not null,
    planned integer not null,
    id integer not null,
    tenant integer not null,
    primary key (state, planned, id)
) strict, without rowid;

-- Attempts that another one followed. The current one is in the instance.
create table attempt (
    id integer primary key,
    instance integer not null,
    day integer not null,
    number integer not null,
    target integer,
    ordered_at integer,
    verdict integer not null,
    exit_code integer,
    message text,
    outputs text,
    started_at integer,
    ended_at integer not null,
    cpu_us integer,
    peak_kb integer,
    log_bytes integer,
    reopened_by text,
    reopened_at integer
) strict;

create index attempt_instance on attempt (instance);
create index attempt_day on attempt (day);

-- Attempts after the first: a first one carries the number of its instance.
create table later_attempt (
    id integer primary key,
    instance integer not null,
    day integer not null
) strict;

create index later_attempt_day on later_attempt (day);

create table gap (
    id integer primary key,
    shard integer not null,
    job integer not null,
    tenant integer not null,
    first integer not null,
    last integer not null check (last >= first),
    count integer not null check (count > 0),
    fate integer not null,
    reason integer,
    instance integer,
    why text not null
) strict;

create index gap_job on gap (job, last);
create index gap_last on gap (last);

create table job (
    id integer primary key,
    shard integer not null,
    tenant integer not null,
    name text not null,
    version integer not null,
    rule integer not null,
    task integer not null,
    source integer not null,
    folder text not null,
    mode integer not null,
    since integer not null,
    fired integer not null,
    changed_by text not null,
    removed_at integer,
    removed_by text
) strict;

create unique index job_name on job (tenant, name) where removed_at is null;
create index job_list on job (name, id, tenant, folder, mode) where removed_at is null;
create index job_removed on job (removed_at) where removed_at is not null;

-- kept_day: the last planned day whose instances may be frozen with this version although its interval is over.
create table job_version (
    id integer primary key,
    job integer not null,
    rule integer not null,
    task integer not null,
    source integer not null,
    created_at integer not null,
    created_by text not null,
    kept_day integer
) strict;

create index job_version_job on job_version (job, id);

-- What each job was when: it decides planned times after since, up to and including until.
create table job_interval (
    job integer not null,
    since integer not null,
    until integer check (until >= since),
    version integer not null,
    rule integer not null,
    mode integer not null,
    tenant integer not null,
    name text not null,
    primary key (job, since)
) strict, without rowid;

create unique index job_interval_current on job_interval (job) where until is null;
create index job_interval_until on job_interval (until) where until is not null;
create index job_interval_version on job_interval (version);

-- Bytes kept once. refs counts the job versions that name them; kept_day is the last planned day of an instance that
-- has them as parameters; touched_at is when somebody last asked for them.
create table content (
    id integer primary key,
    hash blob not null unique,
    body blob not null,
    refs integer not null default 0 check (refs >= 0),
    kept_day integer,
    touched_at integer not null
) strict;

create index content_unused on content (touched_at) where refs = 0;

create table agent (
    id integer primary key,
    tenant integer not null,
    name text not null,
    pools text not null,
    labels text not null,
    slots integer not null,
    drained integer not null check (drained in (0, 1)),
    joined_at integer not null,
    seen_at integer,
    version text not null
) strict;

create table pool (
    tenant integer not null,
    name text not null,
    running_max integer,
    primary key (tenant, name)
) strict, without rowid;

-- Inputs that made the engine fail. A job is held while it has one that nobody has looked at.
create table quarantine (
    id integer primary key,
    shard integer not null,
    job integer,
    input text not null,
    error text not null,
    at integer not null,
    held integer not null default 1 check (held in (0, 1)),
    looked_by text
) strict;

create index quarantine_held on quarantine (job) where held = 1;

create table orphan (
    attempt integer not null,
    agent integer not null,
    kind integer not null,
    at integer not null,
    what text not null,
    primary key (attempt, agent, kind)
) strict, without rowid;

create table note (
    id integer primary key,
    shard integer not null,
    at integer not null,
    job integer,
    instance integer,
    kind integer not null,
    detail integer
) strict;

create index note_at on note (at);

-- What another shard or a person may hold already.
create table claim (
    kind integer not null,
    tenant integer not null,
    name text not null,
    holder integer not null,
    at integer not null,
    primary key (kind, tenant, name)
) strict, without rowid;

create index claim_key_at on claim (at) where kind = 2;

-- People and access. Every secret is here only as a hash its caller made.
create table person (
    name text primary key,
    password text not null,
    created_at integer not null
) strict, without rowid;

create table session (
    hash blob primary key,
    person text not null,
    created_at integer not null,
    expires_at integer not null
) strict, without rowid;

create index session_expires on session (expires_at);

create table api_token (
    id integer primary key,
    hash blob not null unique,
    name text not null,
    person text not null,
    created_at integer not null,
    expires_at integer,
    revoked_at integer
) strict;

create table join_token (
    hash blob primary key,
    tenant integer not null,
    pools text not null,
    labels text not null,
    created_at integer not null,
    expires_at integer not null
) strict, without rowid;

create table agent_secret (
    agent integer primary key,
    hash blob not null
) strict;

create table setting (
    key text primary key,
    value text not null
) strict, without rowid;
