-- A table that is there.
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR DEFAULT 'none');
INSERT INTO main.t (k, a) VALUES (1, 1), (2, 2), (3, 3);
DELETE FROM main.t WHERE k = 3;
-- statement
CREATE TABLE main.t (k INTEGER);
-- refused PAL-205 (42P07)
-- table main.t exists already
-- use IF NOT EXISTS, or another name
