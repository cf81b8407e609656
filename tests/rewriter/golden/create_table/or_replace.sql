-- The old table ends; it can still be read AS OF before.
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR DEFAULT 'none');
INSERT INTO main.t (k, a) VALUES (1, 1), (2, 2), (3, 3);
DELETE FROM main.t WHERE k = 3;
-- statement
CREATE OR REPLACE TABLE main.t (x INTEGER);
-- plan: embedded
-- 1. change the catalog: drop main.t; its journal stays
-- 2. check: PAL-211 (42P16) if it returns a row:
SELECT 1 AS found
FROM (SELECT CAST(NULL AS INT) AS "x" WHERE FALSE) AS t;
-- 3. change the catalog: table main.t (no key) with its journal main.t_journal
