-- leases.sql: every shard, who has it and how far it is written.
select l.shard, l.server, l.until, coalesce(s.term, 0), coalesce(s.batch, 0), coalesce(s.horizon, 0)
from lease l left join shard s on s.id = l.shard
order by l.shard
