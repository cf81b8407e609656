-- A comment is part of the definition.
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR DEFAULT 'none');
INSERT INTO main.t (k, a) VALUES (1, 1), (2, 2), (3, 3);
DELETE FROM main.t WHERE k = 3;
-- statement
COMMENT ON COLUMN main.t.a IS 'how many';
-- plan: embedded
-- 1. change the catalog: table main.t (key k) with its journal main.t_journal
