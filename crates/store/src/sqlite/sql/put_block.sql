-- put_block.sql: widens what a block of ids is known to hold.
insert into block (no, day, planned_from, planned_until) values (?1, ?2, ?3, ?4)
on conflict (no, day) do update set
    planned_from = min(planned_from, excluded.planned_from),
    planned_until = max(planned_until, excluded.planned_until)
