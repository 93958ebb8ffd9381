-- clock.sql: the store's clock, and where the roster stands.
select (extract(epoch from clock_timestamp()) * 1000000)::int8, value::int8 from meta where key = 'revision'
