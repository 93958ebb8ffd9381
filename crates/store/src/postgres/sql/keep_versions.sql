-- keep_versions.sql: versions that instances far ahead are frozen with.
update job_version v set kept_day = greatest(v.kept_day, r.day)
from unnest($1::int8[], $2::int8[]) as r(id, day) where v.id = r.id
