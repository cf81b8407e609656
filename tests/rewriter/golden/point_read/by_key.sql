-- A row that its key finds: its latest open row, without an anti-join.
-- stores: embedded, postgresql, hive
-- form: cached
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR);
INSERT INTO main.t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, 30, 'x'), (4, NULL, 'z');
UPDATE main.t SET a = 31 WHERE k = 3;
DELETE FROM main.t WHERE k = 4;
-- statement
SELECT a, b FROM main.t WHERE k = 2;
-- plan: embedded, with cached rows
-- 1. result
SELECT a, b
FROM (
  SELECT "k", "a", "b"
  FROM (
    SELECT
      CAST($p_row_0_0 AS INT) AS "k",
      CAST($p_row_0_1 AS INT) AS "a",
      CAST($p_row_0_2 AS TEXT) AS "b",
      CAST(MAKE_TIMESTAMPTZ($p_row_0_version) AS TIMESTAMPTZ) AS "version_number"
    WHERE $p_row_0_there
  ) AS o
) AS "t"
WHERE k = 2;
-- no store is needed: PointRead(table_id=1, columns=(('a', 1), ('b', 2)))
-- plan: embedded
-- 1. result
SELECT a, b
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
WHERE k = 2;
-- plan: postgresql
-- 1. result
SELECT "a", "b"
FROM (
  SELECT "k", "a", "b"
  FROM (
    SELECT *
    FROM (
      SELECT "k", "a", "b", "version_number", "subsequent_version_number"
      FROM "_palimpsest"."t1_base"
      WHERE "k" = 2
      UNION ALL
      SELECT "k", "a", "b", "version_number", "subsequent_version_number"
      FROM "_palimpsest"."t1_delta"
      WHERE "k" = 2
      UNION ALL
      SELECT "k", "a", "b", "version_number", "subsequent_version_number"
      FROM "_palimpsest"."t1_head"
      WHERE "k" = 2
    ) AS "u"
    ORDER BY
      COALESCE("subsequent_version_number", "version_number") DESC NULLS LAST,
      "subsequent_version_number" NULLS FIRST
    LIMIT 1
  ) AS "o"
  WHERE "o"."subsequent_version_number" IS NULL
) AS "t"
WHERE "k" = 2;
-- plan: hive
-- 1. result
SELECT `a`, `b`
FROM (
  SELECT `k`, `a`, `b`
  FROM (
    SELECT *
    FROM (
      SELECT `k`, `a`, `b`, `version_number`, `subsequent_version_number`
      FROM `_palimpsest`.`t1_base`
      WHERE `k` = 2
      UNION ALL
      SELECT `k`, `a`, `b`, `version_number`, `subsequent_version_number`
      FROM `_palimpsest`.`t1_delta`
      WHERE `k` = 2
      UNION ALL
      SELECT `k`, `a`, `b`, `version_number`, `subsequent_version_number`
      FROM `_palimpsest`.`t1_head`
      WHERE `k` = 2
    ) AS `u`
    ORDER BY COALESCE(`subsequent_version_number`, `version_number`) DESC, `subsequent_version_number`
    LIMIT 1
  ) AS `o`
  WHERE `o`.`subsequent_version_number` IS NULL
) AS `t`
WHERE `k` = 2;
