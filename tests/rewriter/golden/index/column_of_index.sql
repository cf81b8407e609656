-- A column that an index is over stays.
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR);
INSERT INTO main.t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, NULL, 'z'), (4, NULL, NULL);
UPDATE main.t SET a = 11 WHERE k = 1;
DELETE FROM main.t WHERE k = 2;
CREATE INDEX i ON main.t (a);
-- statement
ALTER TABLE main.t DROP COLUMN a;
-- refused PAL-210 (2BP01)
-- column "a" of main.t cannot be dropped: i needs it
-- use CASCADE to drop constraints and indexes too; DROP CONSTRAINT drops the primary key
