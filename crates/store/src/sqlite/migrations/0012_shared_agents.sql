-- 0012_shared_agents.sql: whose runs an agent takes besides its own tenant's: null nobody's, '*' everyone's, or a list of
-- numbers.
alter table agent add column serves text;
alter table join_token add column serves text;
