-- Several changes make one definition.
-- run: no: DuckDB takes one change at a time
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR DEFAULT 'none');
INSERT INTO main.t (k, a) VALUES (1, 1), (2, 2), (3, 3);
DELETE FROM main.t WHERE k = 3;
-- statement
ALTER TABLE main.t ADD COLUMN c INTEGER, RENAME COLUMN b TO d;
-- plan: embedded
-- 1. check: PAL-211 (42P16) if it returns a row:
SELECT 1 AS found
FROM (
  SELECT CAST(NULL AS INT) AS "k", CAST(NULL AS INT) AS "a", CAST(NULL AS TEXT) AS "b", CAST(NULL AS INT) AS "c"
  WHERE FALSE
) AS t
UNION ALL
SELECT 1 AS found
FROM (
  SELECT ANY_VALUE(CAST('none' AS TEXT)) AS found
  FROM (SELECT 1 AS one) AS d
  HAVING COUNT(*) < 0 AND NOT ANY_VALUE(CAST('none' AS TEXT)) IS NULL
) AS v;
-- 2. check: PAL-241 (55000) if it returns a row: a legal hold by .. (..) finds its rows in main.t by columns that the
-- statement changes or drops
SELECT COALESCE("placed_by", 'somebody') AS "who", "reason"
FROM _palimpsest.holds
WHERE
  (
    ("scope" = 'subject' AND LOWER("subject_column") IN ('b') AND ("table_id" = 1 OR "table_id" IS NULL))
    OR ("scope" = 'predicate' AND "table_id" = 1 AND FALSE)
  )
  AND "released_at" IS NULL;
-- 3. change the catalog: table main.t (key k) with its journal main.t_journal
