-- A further value of an enum gives the tables that use it another layout; rows stay as they are.
-- run: no: DuckDB has no ALTER TYPE
-- setup
CREATE TYPE main.mood AS ENUM ('sad', 'ok');
CREATE TABLE main.t (k INTEGER PRIMARY KEY, m main.mood);
-- statement
ALTER TYPE mood ADD VALUE 'meh' BEFORE 'ok';
-- plan: embedded
-- 1. change the catalog: type main.mood
-- 2. change the catalog: table main.t (key k) with its journal main.t_journal
