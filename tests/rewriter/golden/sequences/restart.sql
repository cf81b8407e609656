-- RESTART gives the sequence a new counter, which a ROLLBACK forgets.
-- run: no: DuckDB has no RESTART
-- setup
CREATE SEQUENCE main.s;
-- statement
ALTER SEQUENCE main.s RESTART WITH 7;
-- plan: embedded
-- 1. change the catalog: sequence main.s
