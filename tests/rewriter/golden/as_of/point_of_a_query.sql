-- A point must be fixed.
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR);
CREATE TABLE main.loose (a INTEGER);
INSERT INTO main.t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, 30, NULL);
INSERT INTO main.loose VALUES (1), (1), (2);
-- mark m
UPDATE main.t SET a = a + 1 WHERE k < 3;
DELETE FROM main.t WHERE k = 3;
DELETE FROM main.loose WHERE a = 2;
-- statement
SELECT * FROM main.t FOR SYSTEM_VERSION AS OF (SELECT 1);
-- refused PAL-230 (22007)
-- (SELECT 1) is not a fixed point in time
-- use literals, parameters and functions of them, such as now() - INTERVAL '1 day'
