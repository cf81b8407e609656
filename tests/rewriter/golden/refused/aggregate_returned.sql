-- RETURNING gives a row for each changed row: no aggregate in it.
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR);
INSERT INTO main.t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, 30, 'x'), (4, NULL, 'z');
UPDATE main.t SET a = 31 WHERE k = 3;
DELETE FROM main.t WHERE k = 4;
-- statement
DELETE FROM main.t RETURNING count(*);
-- refused PAL-214 (42803)
-- aggregate and window functions cannot stand in RETURNING
-- return the rows, and aggregate them in the client
