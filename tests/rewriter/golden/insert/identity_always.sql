-- A column that always generates its numbers takes no others.
-- run: no: DuckDB has no identity columns
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY GENERATED ALWAYS AS IDENTITY, a INTEGER);
-- statement
INSERT INTO main.t VALUES (7, 10);
-- refused PAL-305 (428C9)
-- column "k" of main.t is GENERATED ALWAYS
-- leave it out, give DEFAULT, or write OVERRIDING SYSTEM VALUE
