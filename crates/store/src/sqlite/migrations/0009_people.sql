-- 0009_people.sql: accounts of persons and programs, groups, roles and who has which of them where. Until now everybody
-- who was known could do everything: they keep that.
alter table person add column kind integer not null default 1 check (kind in (1, 2));
alter table person add column must_change integer not null default 0;
-- Who it is for the identity provider; empty until somebody of this name has come from there.
alter table person add column subject text;
alter table person add column disabled_at integer;
alter table person add column created_by text not null default '';
create unique index person_subject on person (subject) where subject <> '';

alter table session add column address text not null default '';
alter table session add column program text not null default '';
alter table session add column used_at integer not null default 0;
-- 1 by password, 2 by identity provider.
alter table session add column way integer not null default 1;
update session set used_at = expires_at;

-- No more than these permissions, and only in this tenant, if they are named.
alter table api_token add column scope text;
alter table api_token add column tenant integer;

create table access_group (
    name text primary key,
    created_at integer not null,
    created_by text not null
) strict, without rowid;

create table access_member (
    member_of text not null,
    person text not null,
    primary key (member_of, person)
) strict, without rowid;
create index access_member_person on access_member (person);

create table access_role (
    name text primary key,
    permissions text not null,
    created_at integer not null,
    created_by text not null
) strict, without rowid;

-- Of a person or of a group; in a tenant or everywhere. origin is 1 for what people gave, 2 for what the identity
-- provider's groups stand for.
create table access_grant (
    id integer primary key,
    person text,
    member_of text,
    role text not null,
    tenant integer,
    folder text,
    labels text not null,
    origin integer not null check (origin in (1, 2)),
    created_at integer not null,
    created_by text not null,
    check ((person is null) <> (member_of is null))
) strict;
create index access_grant_person on access_grant (person) where person is not null;
create index access_grant_member_of on access_grant (member_of) where member_of is not null;

insert into access_grant (person, role, labels, origin, created_at, created_by)
select name, 'platform_admin', '{}', 1, created_at, name from person order by name;

-- Wrong passwords for a name, whether or not somebody has it: from one address, and from all of them (address '').
create table sign_in (
    name text not null,
    address text not null,
    failed integer not null,
    failed_at integer not null,
    succeeded_at integer,
    primary key (name, address)
) strict, without rowid;

-- Who has gone to the identity provider and is not back yet.
create table oidc_login (
    state blob primary key,
    browser blob not null,
    nonce text not null,
    verifier text not null,
    back text not null,
    expires_at integer not null
) strict, without rowid;
