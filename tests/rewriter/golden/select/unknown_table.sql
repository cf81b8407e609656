-- A table that is not there is refused, with the nearest name.
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR);
INSERT INTO main.t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, 30, 'x'), (4, NULL, 'z');
UPDATE main.t SET a = 31 WHERE k = 3;
DELETE FROM main.t WHERE k = 4;
-- statement
SELECT * FROM main.tt;
-- refused PAL-201 (42P01)
-- table main.tt does not exist
-- did you mean main.t?
