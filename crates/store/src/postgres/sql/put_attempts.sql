-- put_attempts.sql: attempts that another one follows.
insert into attempt (
    id, instance, day, number, target, ordered_at, verdict, exit_code, message, outputs, started_at, ended_at,
    cpu_us, peak_kb, log_bytes
)
select r.* from unnest(
    $1::int8[], $2::int8[], $3::int8[], $4::int8[], $5::int8[], $6::int8[], $7::int8[], $8::int8[], $9::text[],
    $10::text[], $11::int8[], $12::int8[], $13::int8[], $14::int8[], $15::int8[]
) as r
