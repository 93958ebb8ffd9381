-- 0007_labels.sql: labels of jobs, where lists can be bound to them; until now they were only in what people applied.
-- A job whose text holds what jsonb cannot is without labels until it is applied again.
alter table job add column if not exists labels text not null default '{}';

-- Nobody who reads or writes jobs waits while the labels are found, but for those that have some.
-- apart
update job set labels = coalesce(convert_from(body, 'UTF8')::jsonb ->> 'labels', '{}')
from content
where content.id = job.source and left(convert_from(body, 'UTF8'), 1) = '{'
    and position('\u0000' in convert_from(body, 'UTF8')) = 0
    and position('"labels"' in convert_from(body, 'UTF8')) > 0;
