-- No such table.
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR DEFAULT 'none');
INSERT INTO main.t (k, a) VALUES (1, 1), (2, 2), (3, 3);
DELETE FROM main.t WHERE k = 3;
-- statement
DROP TABLE main.v_nothing;
-- refused PAL-201 (42P01)
-- table main.v_nothing does not exist
-- create it, `palimpsest adopt` one that is there, or check the spelling; SHOW TABLES lists the tables
