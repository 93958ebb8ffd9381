-- 0013_tenants_servers.sql: which servers may schedule a tenant, by their names (null: any), and the shards that are its
-- alone. Both are JSON lists, and null here: a file has one server and one shard.
alter table tenant add column servers text;
alter table tenant add column own_shards text;
