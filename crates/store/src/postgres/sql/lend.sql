-- lend.sql: a range of fresh ids, and whom it was lent to.
with taken as (
    update counter set next = next + $1 returning next
), lent as (
    insert into lent (first, until, shard) select next - $1, next, $2::int8 from taken where $2::int8 is not null and $1 > 0
)
select next from taken
