-- count_failures.sql: how often each job failed among what was planned on one day in a window.
select i.job, count(*) from unwell as u join instance_day as i on i.id = u.id and i.state = u.state
where u.state in (?1, ?2) and u.planned >= ?3 and u.planned < ?4 and u.tenant = ?5
group by i.job
