-- 0003_held_from.sql: up to where a job's planned times had their entries when it was put into quarantine.
alter table quarantine add column decided integer;
