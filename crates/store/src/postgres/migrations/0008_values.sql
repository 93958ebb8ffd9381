-- 0008_values.sql: variables by level, and secrets, sealed.

-- Tenant 0 is the whole installation; an empty folder all of a tenant.
create table variable (
    tenant int8 not null,
    folder text collate "C" not null,
    name text collate "C" not null,
    value text not null,
    changed_at int8 not null,
    changed_by text not null,
    primary key (tenant, name, folder)
);

-- The value is sealed with a key of its own, which is wrapped by the key of that id. No key is in this store.
create table secret (
    tenant int8 not null,
    name text collate "C" not null,
    folder text collate "C" not null,
    version int8 not null check (version > 0),
    key_id text collate "C" not null,
    wrapped bytea not null,
    sealed bytea not null,
    changed_at int8 not null,
    changed_by text not null,
    primary key (tenant, name)
);
