-- A column goes; its values stay in the journal.
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR DEFAULT 'none');
INSERT INTO main.t (k, a) VALUES (1, 1), (2, 2), (3, 3);
DELETE FROM main.t WHERE k = 3;
-- statement
ALTER TABLE main.t DROP COLUMN b;
-- plan: embedded
-- 1. check: PAL-211 (42P16) if it returns a row:
SELECT 1 AS found
FROM (SELECT CAST(NULL AS INT) AS "k", CAST(NULL AS INT) AS "a" WHERE FALSE) AS t;
-- 2. check: PAL-241 (55000) if it returns a row: a legal hold by .. (..) finds its rows in main.t by columns that the
-- statement changes or drops
SELECT COALESCE("placed_by", 'somebody') AS "who", "reason"
FROM _palimpsest.holds
WHERE
  (
    ("scope" = 'subject' AND LOWER("subject_column") IN ('b') AND ("table_id" = 1 OR "table_id" IS NULL))
    OR ("scope" = 'predicate' AND "table_id" = 1 AND "predicate" LIKE '%"b"%')
  )
  AND "released_at" IS NULL;
-- 3. change the catalog: table main.t (key k) with its journal main.t_journal
