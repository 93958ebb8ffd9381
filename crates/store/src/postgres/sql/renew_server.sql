-- renew_server.sql: a server says that it is there. What people set of it stays; a word of an earlier life
-- changes nothing and finds no row.
insert into server (id, name, api, agents, peer, version, weight, draining, started_at, until)
values (
    $1, $2, $3, $4, $5, $6, $7::int8, $8, $9, (extract(epoch from clock_timestamp()) * 1000000)::int8 + $10::int8
)
on conflict (id) do update set
    name = excluded.name, api = excluded.api, agents = excluded.agents, peer = excluded.peer,
    version = excluded.version, started_at = excluded.started_at, until = excluded.until
where server.started_at <= excluded.started_at
returning id
