-- list_of_blocks.sql: the newest of some blocks of ids of one day.
select planned, id from unnest($1::int8[]) as b(no), lateral (
    select planned, id from instance_day
    where id >= b.no << 12 and id < (b.no + 1) << 12
        and planned >= $2 and planned <= $3 and (planned < $3 or id < $4)
        and parent is null and ($5::int8 is null or tenant = $5) and ($6::int8 & (1::int8 << state)) <> 0
        and ($8::text is null or exists (
            select 1 from job as j, jsonb_array_elements($8::text::jsonb) as p(value)
            where j.id = instance_day.job and (p.value ->> 'folder' is null or j.folder = p.value ->> 'folder'
                    or (j.folder >= (p.value ->> 'folder') || '/' and j.folder < (p.value ->> 'folder') || '0'))
                and j.labels::jsonb @> (p.value -> 'labels')))
        and ($9::int8 is null or target = $9) and ($10::int8 is null or cause = $10)
    order by planned desc, id desc limit $7
) as newest
