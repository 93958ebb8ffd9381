-- list_of_blocks.sql: the newest of some blocks of ids of one day.
select planned, id from unnest($1::int8[]) as b(no), lateral (
    select planned, id from instance_day
    where id >= b.no << 12 and id < (b.no + 1) << 12
        and planned >= $2 and planned <= $3 and (planned < $3 or id < $4)
        and parent is null and ($5::int8 is null or tenant = $5) and ($6::int8 & (1::int8 << state)) <> 0
    order by planned desc, id desc limit $7
) as newest
