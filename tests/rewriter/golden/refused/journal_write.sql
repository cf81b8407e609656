-- A journal cannot be written.
-- run: no: a plain table has no journal
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR);
INSERT INTO main.t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, 30, 'x'), (4, NULL, 'z');
UPDATE main.t SET a = 31 WHERE k = 3;
DELETE FROM main.t WHERE k = 4;
-- statement
INSERT INTO main.t_journal SELECT * FROM main.t_journal;
-- refused PAL-111 (42501)
-- main.t_journal is a journal, which only the gateway writes
-- write to the table itself; the journal may be read
