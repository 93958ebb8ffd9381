-- put_pool.sql: a pool as it is now.
insert into pool (tenant, name, running_max, addresses) values ($1, $2, $3, $4)
on conflict (tenant, name) do update set running_max = excluded.running_max, addresses = excluded.addresses
