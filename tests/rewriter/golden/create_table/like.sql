-- Columns, key, defaults and checks of another table.
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR DEFAULT 'none');
INSERT INTO main.t (k, a) VALUES (1, 1), (2, 2), (3, 3);
DELETE FROM main.t WHERE k = 3;
-- statement
CREATE TABLE main.u LIKE main.t;
-- oracle
CREATE TABLE main.u (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR DEFAULT 'none');
-- plan: embedded
-- 1. check: PAL-211 (42P16) if it returns a row:
SELECT 1 AS found
FROM (SELECT CAST(NULL AS INT) AS "k", CAST(NULL AS INT) AS "a", CAST(NULL AS TEXT) AS "b" WHERE FALSE) AS t
UNION ALL
SELECT 1 AS found
FROM (
  SELECT ANY_VALUE(CAST('none' AS TEXT)) AS found
  FROM (SELECT 1 AS one) AS d
  HAVING COUNT(*) < 0 AND NOT ANY_VALUE(CAST('none' AS TEXT)) IS NULL
) AS v;
-- 2. change the catalog: table main.u (key k) with its journal main.u_journal
