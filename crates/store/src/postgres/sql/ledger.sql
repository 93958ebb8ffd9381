-- ledger.sql: what became of one job's planned times on one day.
select planned, id, state, cause, case when attempt_no = 1 then started_at end, attempt_no > retries_used + 1
from instance_day
where job = $1 and planned >= $2 and planned < $3 and part = 0
order by planned
