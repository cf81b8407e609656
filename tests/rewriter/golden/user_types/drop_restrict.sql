-- RESTRICT names what was declared with the type.
-- run: no: DuckDB lets it go
-- setup
CREATE TYPE main.mood AS ENUM ('sad', 'ok');
CREATE TABLE main.t (k INTEGER PRIMARY KEY, m main.mood);
-- statement
DROP TYPE mood RESTRICT;
-- refused PAL-210 (2BP01)
-- column "m" of main.t has the type "main"."mood"
-- change the column's type first, or use CASCADE, which drops the column
