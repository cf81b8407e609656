-- What there is, from the catalog.
-- run: no: DuckDB names its columns otherwise
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR DEFAULT 'none');
CREATE VIEW main.v AS SELECT k, a FROM main.t WHERE a > 1;
INSERT INTO main.t (k, a) VALUES (1, 1), (2, 2), (3, 3);
DELETE FROM main.t WHERE k = 3;
-- statement
SHOW TABLES;
-- plan: embedded
-- 1. result
SELECT *
FROM (VALUES ('t'), ('v')) AS "shown"("name");
