-- put_content.sql: bytes are kept once; asking again makes them young.
insert into content (hash, body, touched_at) values (?1, ?2, ?3)
on conflict (hash) do update set touched_at = max(touched_at, excluded.touched_at)
returning id
