-- list_jobs.sql: a page of jobs by name.
select id, tenant, name, version, rule, task, source, folder, mode, since, fired, changed_by, alias
from job
where removed_at is null and (name, id) > (?1, ?2)
    and (?3 is null or tenant = ?3)
    and (?4 is null or folder = ?4 or (folder >= ?4 || '/' and folder < ?4 || '0'))
    and (?5 is null or instr(lower(name), ?5) > 0)
    and (?6 is null or mode = ?6)
order by name, id limit ?7
