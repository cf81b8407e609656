-- More values than columns.
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR);
INSERT INTO main.t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, 30, 'x'), (4, NULL, 'z');
UPDATE main.t SET a = 31 WHERE k = 3;
DELETE FROM main.t WHERE k = 4;
-- statement
INSERT INTO main.t VALUES (5, 50, 'v', 1);
-- refused PAL-213 (42601)
-- main.t takes 3 values here, 4 were given
-- name the columns: INSERT INTO t (a, b) ..
