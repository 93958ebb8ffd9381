-- 0010_tenants_servers.sql: which servers may schedule a tenant, by their names (null: any), and the shards that are its
-- alone (null: its jobs are where everyone's are). Both are JSON lists.
alter table tenant add column servers text;
alter table tenant add column own_shards text;
