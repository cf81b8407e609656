-- Other conditions are asked of the row that the key found.
-- stores: embedded
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR);
INSERT INTO main.t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, 30, 'x'), (4, NULL, 'z');
UPDATE main.t SET a = 31 WHERE k = 3;
DELETE FROM main.t WHERE k = 4;
-- statement
SELECT a FROM main.t WHERE k = 2 AND b = 'y';
-- plan: embedded
-- 1. result
SELECT a
FROM (
  SELECT "k", "a", "b"
  FROM (
    SELECT *
    FROM (
      SELECT "k", "a", "b", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_base
      WHERE "k" = 2
      UNION ALL
      SELECT "k", "a", "b", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_delta
      WHERE "k" = 2
      UNION ALL
      SELECT "k", "a", "b", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_head
      WHERE "k" = 2
    ) AS u
    ORDER BY COALESCE("subsequent_version_number", "version_number") DESC, "subsequent_version_number" NULLS FIRST
    LIMIT 1
  ) AS o
  WHERE o."subsequent_version_number" IS NULL
) AS "t"
WHERE k = 2 AND b = 'y';
