-- 0011_values.sql: variables by level, and secrets, sealed.

-- Tenant 0 is the whole installation; an empty folder all of a tenant.
create table variable (
    tenant integer not null,
    folder text not null,
    name text not null,
    value text not null,
    changed_at integer not null,
    changed_by text not null,
    primary key (tenant, name, folder)
) strict, without rowid;

-- The value is sealed with a key of its own, which is wrapped by the key of that id. No key is in this store.
create table secret (
    tenant integer not null,
    name text not null,
    folder text not null,
    version integer not null check (version > 0),
    key_id text not null,
    wrapped blob not null,
    sealed blob not null,
    changed_at integer not null,
    changed_by text not null,
    primary key (tenant, name)
) strict, without rowid;
