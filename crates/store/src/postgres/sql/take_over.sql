-- take_over.sql: raises the term, so that every later commit of an earlier owner finds no row. Waits for one under way.
insert into shard (id, term, batch, horizon, next_id) values ($1, 1, 0, 0, 0)
on conflict (id) do update set term = shard.term + 1
returning term, batch, horizon, next_id, low_water
