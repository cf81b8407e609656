-- A column of a domain has its default and its checks.
-- run: no: DuckDB has no domains
-- stores: embedded, postgresql, hive
-- setup
CREATE DOMAIN main.positive AS INTEGER DEFAULT 5 CHECK (VALUE > 0) NOT NULL;
-- statement
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a positive);
-- plan: embedded
-- 1. check: PAL-211 (42P16) if it returns a row:
SELECT 1 AS found
FROM (SELECT CAST(NULL AS INT) AS "k", CAST(NULL AS INT) AS "a" WHERE FALSE) AS t
WHERE ("a" > 0)
UNION ALL
SELECT 1 AS found
FROM (
  SELECT ANY_VALUE(CAST(5 AS INT)) AS found
  FROM (SELECT 1 AS one) AS d
  HAVING COUNT(*) < 0 AND NOT ANY_VALUE(CAST(5 AS INT)) IS NULL
) AS v;
-- 2. change the catalog: table main.t (key k) with its journal main.t_journal
-- plan: postgresql
-- 1. check: PAL-211 (42P16) if it returns a row:
SELECT 1 AS "found"
FROM (SELECT CAST(NULL AS INT) AS "k", CAST(NULL AS INT) AS "a" WHERE FALSE) AS "t"
WHERE ("a" > 0)
UNION ALL
SELECT 1 AS "found"
FROM (
  SELECT "_palimpsest".any_value(CAST(5 AS INT)) AS "found"
  FROM (SELECT 1 AS "one") AS "d"
  HAVING COUNT(*) < 0 AND NOT "_palimpsest".any_value(CAST(5 AS INT)) IS NULL
) AS "v";
-- 2. change the catalog: table main.t (key k) with its journal main.t_journal
-- plan: hive
-- 1. check: PAL-211 (42P16) if it returns a row:
SELECT 1 AS `found`
FROM (SELECT CAST(NULL AS INT) AS `k`, CAST(NULL AS INT) AS `a` WHERE FALSE) AS `t`
WHERE (`a` > 0)
UNION ALL
SELECT 1 AS `found`
FROM (
  SELECT ANY_VALUE(CAST(5 AS INT)) AS `found`
  FROM (SELECT 1 AS `one`) AS `d`
  HAVING COUNT(*) < 0 AND NOT ANY_VALUE(CAST(5 AS INT)) IS NULL
) AS `v`;
-- 2. change the catalog: table main.t (key k) with its journal main.t_journal
