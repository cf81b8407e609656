-- A schema with what it holds.
-- setup
CREATE SCHEMA hr;
CREATE TABLE hr.d (k INTEGER PRIMARY KEY);
-- statement
DROP SCHEMA hr CASCADE;
-- plan: embedded
-- 1. change the catalog: drop hr.d; its journal stays
-- 2. change the catalog: drop schema hr
