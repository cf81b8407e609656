-- A table without a key.
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR);
CREATE TABLE main.loose (a INTEGER);
INSERT INTO main.t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, 30, NULL);
INSERT INTO main.loose VALUES (1), (1), (2);
-- mark m
UPDATE main.t SET a = a + 1 WHERE k < 3;
DELETE FROM main.t WHERE k = 3;
DELETE FROM main.loose WHERE a = 2;
-- statement
SELECT a, count(*) AS n FROM main.loose/*@m*/ GROUP BY a;
-- plan: embedded
-- 1. result
SELECT a, COUNT(*) AS n
FROM (
  SELECT o."a"
  FROM _palimpsest.t2_base AS o
  ANTI JOIN (
    SELECT "_row_id", "version_number", "subsequent_version_number"
    FROM (
      SELECT "a", "_row_id", "version_number", "subsequent_version_number"
      FROM _palimpsest.t2_delta
      UNION ALL
      SELECT "a", "_row_id", "version_number", "subsequent_version_number"
      FROM _palimpsest.t2_head
    ) AS x
    WHERE
      "subsequent_version_number" > "version_number"
      AND "subsequent_version_number" <= MAKE_TIMESTAMPTZ($p_time_0)
  ) AS c
    ON (c."_row_id" = o."_row_id" AND c."version_number" = o."version_number")
    AND c."subsequent_version_number" > c."version_number"
  WHERE o."subsequent_version_number" IS NULL AND o."version_number" <= MAKE_TIMESTAMPTZ($p_time_0)
  UNION ALL
  SELECT o."a"
  FROM _palimpsest.t2_delta AS o
  ANTI JOIN (
    SELECT "_row_id", "version_number", "subsequent_version_number"
    FROM (
      SELECT "a", "_row_id", "version_number", "subsequent_version_number"
      FROM _palimpsest.t2_delta
      UNION ALL
      SELECT "a", "_row_id", "version_number", "subsequent_version_number"
      FROM _palimpsest.t2_head
    ) AS x
    WHERE
      "subsequent_version_number" > "version_number"
      AND "subsequent_version_number" <= MAKE_TIMESTAMPTZ($p_time_0)
  ) AS c
    ON (c."_row_id" = o."_row_id" AND c."version_number" = o."version_number")
    AND c."subsequent_version_number" > c."version_number"
  WHERE o."subsequent_version_number" IS NULL AND o."version_number" <= MAKE_TIMESTAMPTZ($p_time_0)
  UNION ALL
  SELECT o."a"
  FROM _palimpsest.t2_head AS o
  ANTI JOIN (
    SELECT "_row_id", "version_number", "subsequent_version_number"
    FROM (
      SELECT "a", "_row_id", "version_number", "subsequent_version_number"
      FROM _palimpsest.t2_delta
      UNION ALL
      SELECT "a", "_row_id", "version_number", "subsequent_version_number"
      FROM _palimpsest.t2_head
    ) AS x
    WHERE
      "subsequent_version_number" > "version_number"
      AND "subsequent_version_number" <= MAKE_TIMESTAMPTZ($p_time_0)
  ) AS c
    ON (c."_row_id" = o."_row_id" AND c."version_number" = o."version_number")
    AND c."subsequent_version_number" > c."version_number"
  WHERE o."subsequent_version_number" IS NULL AND o."version_number" <= MAKE_TIMESTAMPTZ($p_time_0)
) AS "loose"
GROUP BY a;
