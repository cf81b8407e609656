-- Its columns only.
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR DEFAULT 'none');
INSERT INTO main.t (k, a) VALUES (1, 1), (2, 2), (3, 3);
DELETE FROM main.t WHERE k = 3;
-- statement
CREATE TABLE main.u AS SELECT k, a FROM main.t WITH NO DATA;
-- plan: embedded
-- 1. check: PAL-211 (42P16) if it returns a row:
SELECT 1 AS found
FROM (SELECT CAST(NULL AS UNKNOWN) AS "k", CAST(NULL AS UNKNOWN) AS "a" WHERE FALSE) AS t;
-- 2. change the catalog: table main.u (no key) with its journal main.u_journal
-- 3. row count
SELECT 0;
