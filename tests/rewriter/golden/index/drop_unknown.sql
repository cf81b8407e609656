-- An index that is not there.
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR);
INSERT INTO main.t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, NULL, 'z'), (4, NULL, NULL);
UPDATE main.t SET a = 11 WHERE k = 1;
DELETE FROM main.t WHERE k = 2;
-- statement
DROP INDEX nope;
-- refused PAL-217 (42704)
-- there is no index nope
-- system.indexes lists those there are; IF EXISTS passes over it
