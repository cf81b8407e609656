-- Rows of constants need no journal.
-- stores: embedded, postgresql, hive
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR);
INSERT INTO main.t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, 30, 'x'), (4, NULL, 'z');
UPDATE main.t SET a = 31 WHERE k = 3;
DELETE FROM main.t WHERE k = 4;
-- statement
SELECT v.x FROM (VALUES (1), (2)) AS v(x);
-- plan: embedded
-- 1. result
SELECT v.x
FROM (VALUES (1), (2)) AS v(x);
-- plan: postgresql
-- 1. result
SELECT "v"."x"
FROM (VALUES (1), (2)) AS "v"("x");
-- plan: hive
-- 1. result
SELECT `v`.`x`
FROM VALUES (1), (2) AS `v`(`x`);
