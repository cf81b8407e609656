-- Every column of a key must be given for a look-up.
-- setup
CREATE TABLE main.t (a INTEGER, b INTEGER, c VARCHAR, PRIMARY KEY (a, b));
INSERT INTO main.t VALUES (1, 1, 'x'), (1, 2, 'y');
-- statement
SELECT c FROM main.t WHERE b = 2 AND a = 1;
-- plan: embedded
-- 1. result
SELECT c
FROM (
  SELECT "a", "b", "c"
  FROM (
    SELECT *
    FROM (
      SELECT "a", "b", "c", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_base
      WHERE "b" = 2 AND "a" = 1
      UNION ALL
      SELECT "a", "b", "c", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_delta
      WHERE "b" = 2 AND "a" = 1
      UNION ALL
      SELECT "a", "b", "c", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_head
      WHERE "b" = 2 AND "a" = 1
    ) AS u
    ORDER BY COALESCE("subsequent_version_number", "version_number") DESC, "subsequent_version_number" NULLS FIRST
    LIMIT 1
  ) AS o
  WHERE o."subsequent_version_number" IS NULL
) AS "t"
WHERE b = 2 AND a = 1;
