-- A clause that cannot be kept is refused, never passed over.
-- client: postgres
-- run: no: DuckDB refuses it as well
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR);
INSERT INTO main.t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, 30, 'x'), (4, NULL, 'z');
UPDATE main.t SET a = 31 WHERE k = 3;
DELETE FROM main.t WHERE k = 4;
-- statement
SELECT * FROM main.t FOR UPDATE SKIP LOCKED;
-- refused PAL-110 (0A000)
-- SKIP LOCKED on this store is not supported
-- leave SKIP LOCKED out: nobody waits; of two who claim a row the second to commit gets 40001
