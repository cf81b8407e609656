-- A part of the rows that the conflict does not name.
-- client: postgres
-- run: no, DuckDB has no partial indexes
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR);
INSERT INTO main.t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, NULL, 'z'), (4, NULL, NULL);
UPDATE main.t SET a = 11 WHERE k = 1;
DELETE FROM main.t WHERE k = 2;
CREATE UNIQUE INDEX i ON main.t (a) WHERE b <> 'x';
-- statement
INSERT INTO main.t VALUES (8, 11, 'y') ON CONFLICT (a) DO NOTHING;
-- refused PAL-215 (42P10)
-- no PRIMARY KEY, UNIQUE constraint or unique index of main.t is on exactly these columns
-- name the columns of one: (k); (a) WHERE b <> 'x'
