-- A journal can be read by its own name.
-- run: no: a plain table has no journal
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR);
INSERT INTO main.t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, 30, 'x'), (4, NULL, 'z');
UPDATE main.t SET a = 31 WHERE k = 3;
DELETE FROM main.t WHERE k = 4;
-- statement
SELECT k, subsequent_version_number FROM main.t_journal;
-- plan: embedded
-- 1. result
SELECT k, subsequent_version_number
FROM (
  SELECT "k", "a", "b", "version_number", "subsequent_version_number"
  FROM _palimpsest.t1_base
  UNION ALL
  SELECT "k", "a", "b", "version_number", "subsequent_version_number"
  FROM _palimpsest.t1_delta
  UNION ALL
  SELECT "k", "a", "b", "version_number", "subsequent_version_number"
  FROM _palimpsest.t1_head
) AS "t_journal";
