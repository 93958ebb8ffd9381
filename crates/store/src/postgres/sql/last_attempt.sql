-- last_attempt.sql: how an ended instance's attempt ended.
select state, reason, verdict from instance_day where id = $1 and ended_at is not null
