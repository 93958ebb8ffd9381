-- 0005_audit.sql: who did what, and what was refused, in a chain that is only ever made longer.

create table audit (
    seq int8 primary key,
    at int8 not null,
    tenant int8,
    actor text collate "C",
    operation text collate "C" not null,
    outcome text collate "C" not null,
    entry text not null,
    hash bytea not null
);
create index audit_at on audit (at);
create index audit_tenant on audit (tenant, seq);
create index audit_actor on audit (actor, seq);
create index audit_operation on audit (operation, seq);
create index audit_refused on audit (seq) where outcome <> 'done';

-- What entries are about, by name or number.
create table audit_about (
    value text collate "C" not null,
    seq int8 not null,
    primary key (value, seq)
);
create index audit_about_seq on audit_about (seq);

-- The newest entry, and the last one that was dropped because its time was over. Locked by whoever adds entries.
create table audit_head (
    id int8 primary key check (id = 1),
    seq int8 not null,
    hash bytea not null,
    base_seq int8 not null,
    base_hash bytea not null
);

-- Changes that are under way and have no entry yet.
create table audit_begun (
    id text collate "C" primary key,
    at int8 not null,
    entry text not null
);

create function audit_stays() returns trigger language plpgsql as $$
begin
    if tg_op = 'DELETE' and old.seq <= (select base_seq from duly.audit_head where id = 1) then
        return old;
    end if;
    raise exception 'an entry of the audit is never changed or deleted';
end
$$;
create trigger audit_stays before update or delete on audit for each row execute function audit_stays();
create trigger audit_is_kept before truncate on audit for each statement execute function audit_stays();
