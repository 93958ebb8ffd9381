-- 0008_audit.sql: who did what, and what was refused, in a chain that is only ever made longer.

create table audit (
    seq integer primary key,
    at integer not null,
    tenant integer,
    actor text,
    operation text not null,
    outcome text not null,
    entry text not null,
    hash blob not null
) strict;
create index audit_at on audit (at);
create index audit_tenant on audit (tenant, seq);
create index audit_actor on audit (actor, seq);
create index audit_operation on audit (operation, seq);
create index audit_refused on audit (seq) where outcome <> 'done';

-- What entries are about, by name or number.
create table audit_about (
    value text not null,
    seq integer not null,
    primary key (value, seq)
) strict, without rowid;
create index audit_about_seq on audit_about (seq);

-- The newest entry, and the last one that was dropped because its time was over.
create table audit_head (
    id integer primary key check (id = 1),
    seq integer not null,
    hash blob not null,
    base_seq integer not null,
    base_hash blob not null
) strict;

-- Changes that are under way and have no entry yet.
create table audit_begun (
    id text primary key,
    at integer not null,
    entry text not null
) strict, without rowid;

create trigger audit_stays before update on audit begin
    select raise(abort, 'an entry of the audit is never changed');
end;
create trigger audit_is_kept before delete on audit
when old.seq > coalesce((select base_seq from audit_head where id = 1), 0) begin
    select raise(abort, 'an entry of the audit is never deleted');
end;
