-- The past cannot be changed.
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
DELETE FROM main.t FOR SYSTEM_VERSION AS OF 1000;
-- refused PAL-110 (0A000)
-- VERSION in the target of DELETE is not supported
-- leave the clause out; see docs/sql.md for what each statement takes
