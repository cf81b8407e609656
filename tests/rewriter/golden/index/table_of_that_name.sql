-- In PostgreSQL an index has no name of a table.
-- client: postgres
-- run: no, DuckDB allows it
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR);
INSERT INTO main.t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, NULL, 'z'), (4, NULL, NULL);
UPDATE main.t SET a = 11 WHERE k = 1;
DELETE FROM main.t WHERE k = 2;
-- statement
CREATE INDEX t ON main.t (b);
-- refused PAL-205 (42P07)
-- main.t exists already
-- use another name, or IF NOT EXISTS
