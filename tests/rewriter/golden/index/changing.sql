-- Values that may differ the next time are no values of an index.
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR);
INSERT INTO main.t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, NULL, 'z'), (4, NULL, NULL);
UPDATE main.t SET a = 11 WHERE k = 1;
DELETE FROM main.t WHERE k = 2;
-- statement
CREATE INDEX i ON main.t (now());
-- refused PAL-211 (42P16)
-- an index of main.t: an expression of it calls now, whose value may differ at the next call
-- use functions whose value depends on their arguments only
