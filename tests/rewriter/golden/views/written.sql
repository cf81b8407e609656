-- A view cannot be written.
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR);
INSERT INTO main.t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, 30, 'x'), (4, NULL, 'z');
UPDATE main.t SET a = 31 WHERE k = 3;
DELETE FROM main.t WHERE k = 4;
CREATE VIEW main.v AS SELECT k, a FROM main.t WHERE a > 10;
CREATE VIEW main.w (key, twice) AS SELECT k, a * 2 FROM main.v;
-- statement
UPDATE main.v SET a = 1;
-- refused PAL-209 (42809)
-- main.v is not a table
-- write to the tables it is made of
