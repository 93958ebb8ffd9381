-- put_contents.sql: bytes are kept once; asking again makes them young.
insert into content (hash, body, touched_at)
select r.hash, r.body, $3::int8 from unnest($1::bytea[], $2::bytea[]) as r(hash, body)
on conflict (hash) do update set touched_at = greatest(content.touched_at, excluded.touched_at)
returning id, hash
