-- A view is replaced.
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR DEFAULT 'none');
CREATE VIEW main.v AS SELECT k, a FROM main.t WHERE a > 1;
INSERT INTO main.t (k, a) VALUES (1, 1), (2, 2), (3, 3);
DELETE FROM main.t WHERE k = 3;
-- statement
CREATE OR REPLACE VIEW main.v AS SELECT k FROM main.t;
-- plan: embedded
-- 1. change the catalog: view main.v
