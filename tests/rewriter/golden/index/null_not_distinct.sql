-- NULL equals nothing, as everywhere.
-- run: no, DuckDB has no such clause
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR);
INSERT INTO main.t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, NULL, 'z'), (4, NULL, NULL);
UPDATE main.t SET a = 11 WHERE k = 1;
DELETE FROM main.t WHERE k = 2;
-- statement
CREATE UNIQUE INDEX i ON main.t (a) NULLS NOT DISTINCT;
-- refused PAL-110 (0A000)
-- this form of CREATE UNIQUE INDEX is not supported
-- write CREATE [UNIQUE] INDEX name ON t (columns) [WHERE ..]; NULLs are distinct, unless it is over ((a IS NULL),
-- COALESCE(a, 0)) for each column a
