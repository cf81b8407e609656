-- A generated column and one that numbers its rows.
-- run: no: DuckDB has no identity columns
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR DEFAULT 'none');
INSERT INTO main.t (k, a) VALUES (1, 1), (2, 2), (3, 3);
DELETE FROM main.t WHERE k = 3;
-- statement
CREATE TABLE main.u (id INTEGER GENERATED ALWAYS AS IDENTITY, a INTEGER, twice AS (a * 2));
-- plan: embedded
-- 1. check: PAL-211 (42P16) if it returns a row:
SELECT 1 AS found
FROM (SELECT CAST(NULL AS INT) AS "id", CAST(NULL AS INT) AS "a", CAST(NULL AS UNKNOWN) AS "twice" WHERE FALSE) AS t
WHERE (CAST("a" * 2 AS UNKNOWN) IS NULL);
-- 2. change the catalog: table main.u (no key) with its journal main.u_journal
