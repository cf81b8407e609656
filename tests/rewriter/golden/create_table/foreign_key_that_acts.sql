-- A foreign key that acts.
-- run: no, a plain DuckDB has no actions
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR DEFAULT 'none');
INSERT INTO main.t (k, a) VALUES (1, 1), (2, 2), (3, 3);
DELETE FROM main.t WHERE k = 3;
-- statement
CREATE TABLE main.u (k INTEGER REFERENCES main.t (k) ON DELETE CASCADE);
-- plan: embedded
-- 1. check: PAL-211 (42P16) if it returns a row:
SELECT 1 AS found
FROM (SELECT CAST(NULL AS INT) AS "k" WHERE FALSE) AS t;
-- 2. change the catalog: table main.u (no key) with its journal main.u_journal
