-- A column of the key stays.
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR DEFAULT 'none');
INSERT INTO main.t (k, a) VALUES (1, 1), (2, 2), (3, 3);
DELETE FROM main.t WHERE k = 3;
-- statement
ALTER TABLE main.t DROP COLUMN k;
-- refused PAL-210 (2BP01)
-- column "k" of main.t cannot be dropped: the primary key needs it
-- use CASCADE to drop constraints and indexes too; DROP CONSTRAINT drops the primary key
