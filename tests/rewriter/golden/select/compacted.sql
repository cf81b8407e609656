-- A table whose changes are all compacted is read plainly.
-- stores: embedded, postgresql, hive
-- tiers: base
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR);
INSERT INTO main.t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, 30, 'x'), (4, NULL, 'z');
UPDATE main.t SET a = 31 WHERE k = 3;
DELETE FROM main.t WHERE k = 4;
-- statement
SELECT k, a FROM main.t WHERE a > 10;
-- plan: embedded
-- 1. result
SELECT k, a
FROM (SELECT "k", "a", "b" FROM _palimpsest.t1_base) AS "t"
WHERE a > 10;
-- plan: postgresql
-- 1. result
SELECT "k", "a"
FROM (SELECT "k", "a", "b" FROM "_palimpsest"."t1_base") AS "t"
WHERE "a" > 10;
-- plan: hive
-- 1. result
SELECT `k`, `a`
FROM (SELECT `k`, `a`, `b` FROM `_palimpsest`.`t1_base`) AS `t`
WHERE `a` > 10;
