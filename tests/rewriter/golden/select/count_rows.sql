-- All rows of a table are counted by what is on record of it.
-- stores: embedded
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR, f DOUBLE);
INSERT INTO main.t VALUES (1, 10, 'x', 0.5), (2, 20, 'y', 1.5), (3, 30, 'x', -0.0);
INSERT INTO main.t VALUES (4, NULL, 'z', 0.0), (5, 30, 'w', 2.5);
UPDATE main.t SET a = 31 WHERE k = 3;
DELETE FROM main.t WHERE k = 4;
UPDATE main.t SET b = 'v' WHERE k = 5;
-- statement
SELECT count(*) AS n, count(k) + 1 AS m FROM main.t;
-- plan: embedded
-- 1. result
SELECT CAST($p_rows_0 AS BIGINT) AS "n", CAST($p_rows_0 AS BIGINT) + 1 AS "m";
