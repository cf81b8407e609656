-- The definition is tried on no rows, then put into the catalog.
-- stores: embedded, postgresql, hive
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR DEFAULT 'none');
INSERT INTO main.t (k, a) VALUES (1, 1), (2, 2), (3, 3);
DELETE FROM main.t WHERE k = 3;
-- statement
CREATE TABLE main.u (x INTEGER PRIMARY KEY, y DECIMAL(8, 2) NOT NULL CHECK (y > 0), UNIQUE (y));
-- plan: embedded
-- 1. check: PAL-211 (42P16) if it returns a row:
SELECT 1 AS found
FROM (SELECT CAST(NULL AS INT) AS "x", CAST(NULL AS DECIMAL(8, 2)) AS "y" WHERE FALSE) AS t
WHERE ("y" > 0);
-- 2. change the catalog: table main.u (key x) with its journal main.u_journal
-- plan: postgresql
-- 1. check: PAL-211 (42P16) if it returns a row:
SELECT 1 AS "found"
FROM (SELECT CAST(NULL AS INT) AS "x", CAST(NULL AS DECIMAL(8, 2)) AS "y" WHERE FALSE) AS "t"
WHERE ("y" > 0);
-- 2. change the catalog: table main.u (key x) with its journal main.u_journal
-- plan: hive
-- 1. check: PAL-211 (42P16) if it returns a row:
SELECT 1 AS `found`
FROM (SELECT CAST(NULL AS INT) AS `x`, CAST(NULL AS DECIMAL(8, 2)) AS `y` WHERE FALSE) AS `t`
WHERE (`y` > 0);
-- 2. change the catalog: table main.u (key x) with its journal main.u_journal
