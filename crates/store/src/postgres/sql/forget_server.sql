-- forget_server.sql: one that is dead and holds nothing.
delete from server
where id = $1 and until <= (extract(epoch from clock_timestamp()) * 1000000)::int8
    and not exists (select 1 from lease where server = $1)
