-- A foreign key that acts on its own is refused.
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR DEFAULT 'none');
INSERT INTO main.t (k, a) VALUES (1, 1), (2, 2), (3, 3);
DELETE FROM main.t WHERE k = 3;
-- statement
CREATE TABLE main.u (k INTEGER REFERENCES main.t (k) ON DELETE CASCADE);
-- refused PAL-110 (0A000)
-- a foreign key with ON DELETE CASCADE is not supported
-- leave it out, and change the rows that refer to a row before the row itself, in one transaction
