-- A temporary table has no journal that stays.
-- run: no: it belongs to the session that made it; tests of temporary tables run it
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR DEFAULT 'none');
INSERT INTO main.t (k, a) VALUES (1, 1), (2, 2), (3, 3);
DELETE FROM main.t WHERE k = 3;
-- statement
CREATE TEMPORARY TABLE staged (k INTEGER);
-- plan: embedded
-- 1. check: PAL-211 (42P16) if it returns a row:
SELECT 1 AS found
FROM (SELECT CAST(NULL AS INT) AS "k" WHERE FALSE) AS t;
-- 2. change the catalog: temporary table temp.staged (no key)
