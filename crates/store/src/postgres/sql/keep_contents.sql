-- keep_contents.sql: what instances have as parameters is kept as long as they are.
update content c set kept_day = greatest(c.kept_day, r.day)
from unnest($1::int8[], $2::int8[]) as r(id, day) where c.id = r.id
