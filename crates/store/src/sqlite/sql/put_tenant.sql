-- put_tenant.sql: a tenant as it is now.
insert into tenant (id, name, weight, jobs_max, running_max, starts_per_second, log_bytes_max, history_days,
    private_network, state, created_at, created_by, exported_at, exported, servers, own_shards)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)
on conflict (id) do update set
    name = excluded.name, weight = excluded.weight, jobs_max = excluded.jobs_max,
    running_max = excluded.running_max, starts_per_second = excluded.starts_per_second,
    log_bytes_max = excluded.log_bytes_max, history_days = excluded.history_days,
    private_network = excluded.private_network, state = excluded.state,
    exported_at = excluded.exported_at, exported = excluded.exported,
    servers = excluded.servers, own_shards = excluded.own_shards
