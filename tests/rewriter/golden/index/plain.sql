-- A plain index changes the definition alone.
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR);
INSERT INTO main.t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, NULL, 'z'), (4, NULL, NULL);
UPDATE main.t SET a = 11 WHERE k = 1;
DELETE FROM main.t WHERE k = 2;
-- statement
CREATE INDEX i ON main.t (a, b);
-- plan: embedded
-- 1. check: PAL-211 (42P16) if it returns a row:
SELECT 1 AS found
FROM (SELECT CAST(NULL AS INT) AS "k", CAST(NULL AS INT) AS "a", CAST(NULL AS TEXT) AS "b" WHERE FALSE) AS t;
-- 2. change the catalog: table main.t (key k) with its journal main.t_journal
