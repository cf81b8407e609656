-- A column that is not there.
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR DEFAULT 'none');
INSERT INTO main.t (k, a) VALUES (1, 1), (2, 2), (3, 3);
DELETE FROM main.t WHERE k = 3;
-- statement
ALTER TABLE main.t DROP COLUMN nothing;
-- refused PAL-202 (42703)
-- column "nothing" of main.t does not exist
-- its columns are k, a, b
