-- 0010_labels.sql: labels of jobs, where lists can be bound to them; until now they were only in what people applied.
alter table job add column labels text not null default '{}';

update job set labels = coalesce(
    (select json_extract(cast(body as text), '$.labels') from content where content.id = job.source and json_valid(body)),
    '{}');
