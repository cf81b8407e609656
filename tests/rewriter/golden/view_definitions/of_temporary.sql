-- A view that stays cannot read a table that does not.
-- run: no: DuckDB takes it, and loses the table
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR DEFAULT 'none');
CREATE VIEW main.v AS SELECT k, a FROM main.t WHERE a > 1;
INSERT INTO main.t (k, a) VALUES (1, 1), (2, 2), (3, 3);
DELETE FROM main.t WHERE k = 3;
CREATE TEMPORARY TABLE u (k INTEGER);
-- statement
CREATE VIEW main.w AS SELECT * FROM temp.u;
-- refused PAL-211 (42P16)
-- the view main.w would read the temporary table u
-- leave out the schema, so that the view is temporary, or read an ordinary table
