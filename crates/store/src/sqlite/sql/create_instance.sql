-- create_instance.sql: one run's insert; unique by job, planned time and part.
insert into instance_day (
    id, shard, tenant, job, version, planned, part, parts, parent, cause, cause_ref, cause_by, params,
    state, attempt, attempt_no, target, created_at, room
) values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, 1, ?16, ?17, zeroblob(48))
