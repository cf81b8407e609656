-- A row that its key finds: a closing row and a tombstone, in one query.
-- stores: embedded, postgresql, hive
-- form: cached
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR);
INSERT INTO main.t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, 30, 'x'), (4, NULL, 'z');
UPDATE main.t SET a = 31 WHERE k = 3;
DELETE FROM main.t WHERE k = 4;
-- statement
DELETE FROM main.t WHERE k = 2;
-- plan: embedded, with cached rows
-- 1. append to main.t_journal
WITH p_changed AS MATERIALIZED (
  SELECT
    t."k" AS _palimpsest_o0,
    t."a" AS _palimpsest_o1,
    t."b" AS _palimpsest_o2,
    t."_palimpsest_version" AS _palimpsest_ov
  FROM (
    SELECT "k", "a", "b", "version_number" AS "_palimpsest_version"
    FROM (
      SELECT
        CAST($p_row_0_0 AS INT) AS "k",
        CAST($p_row_0_1 AS INT) AS "a",
        CAST($p_row_0_2 AS TEXT) AS "b",
        CAST(MAKE_TIMESTAMPTZ($p_row_0_version) AS TIMESTAMPTZ) AS "version_number"
      WHERE $p_row_0_there
    ) AS o
  ) AS "t"
  WHERE k = 2
)
SELECT
  s."_palimpsest_o0" AS "k",
  s."_palimpsest_o1" AS "a",
  s."_palimpsest_o2" AS "b",
  s."_palimpsest_ov" AS "version_number",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed AS s
UNION ALL
SELECT
  s."_palimpsest_o0" AS "k",
  s."_palimpsest_o1" AS "a",
  s."_palimpsest_o2" AS "b",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "version_number",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed AS s;
-- no store is needed: PointChange(table_id=1, values=None)
-- plan: embedded
-- 1. append to main.t_journal
WITH p_changed AS MATERIALIZED (
  SELECT
    t."k" AS _palimpsest_o0,
    t."a" AS _palimpsest_o1,
    t."b" AS _palimpsest_o2,
    t."_palimpsest_version" AS _palimpsest_ov
  FROM (
    SELECT "k", "a", "b", "version_number" AS "_palimpsest_version"
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
  WHERE k = 2
)
SELECT
  s."_palimpsest_o0" AS "k",
  s."_palimpsest_o1" AS "a",
  s."_palimpsest_o2" AS "b",
  s."_palimpsest_ov" AS "version_number",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed AS s
UNION ALL
SELECT
  s."_palimpsest_o0" AS "k",
  s."_palimpsest_o1" AS "a",
  s."_palimpsest_o2" AS "b",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "version_number",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed AS s;
-- plan: postgresql
-- 1. append to main.t_journal
WITH "p_changed" AS MATERIALIZED (
  SELECT
    "t"."k" AS "_palimpsest_o0",
    "t"."a" AS "_palimpsest_o1",
    "t"."b" AS "_palimpsest_o2",
    "t"."_palimpsest_version" AS "_palimpsest_ov"
  FROM (
    SELECT "k", "a", "b", "version_number" AS "_palimpsest_version"
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
  WHERE "k" = 2
)
SELECT
  "s"."_palimpsest_o0" AS "k",
  "s"."_palimpsest_o1" AS "a",
  "s"."_palimpsest_o2" AS "b",
  "s"."_palimpsest_ov" AS "version_number",
  CAST((
    CAST('1970-01-01 00:00:00+00' AS TIMESTAMPTZ) + ($1) * INTERVAL '1 MICROSECOND'
  ) AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM "p_changed" AS "s"
UNION ALL
SELECT
  "s"."_palimpsest_o0" AS "k",
  "s"."_palimpsest_o1" AS "a",
  "s"."_palimpsest_o2" AS "b",
  CAST((
    CAST('1970-01-01 00:00:00+00' AS TIMESTAMPTZ) + ($1) * INTERVAL '1 MICROSECOND'
  ) AS TIMESTAMPTZ) AS "version_number",
  CAST((
    CAST('1970-01-01 00:00:00+00' AS TIMESTAMPTZ) + ($1) * INTERVAL '1 MICROSECOND'
  ) AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM "p_changed" AS "s";
-- plan: hive
-- 1. append to main.t_journal
WITH `p_changed` AS (
  SELECT
    `t`.`k` AS `_palimpsest_o0`,
    `t`.`a` AS `_palimpsest_o1`,
    `t`.`b` AS `_palimpsest_o2`,
    `t`.`_palimpsest_version` AS `_palimpsest_ov`
  FROM (
    SELECT `k`, `a`, `b`, `version_number` AS `_palimpsest_version`
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
  WHERE `k` = 2
)
SELECT
  `s`.`_palimpsest_o0` AS `k`,
  `s`.`_palimpsest_o1` AS `a`,
  `s`.`_palimpsest_o2` AS `b`,
  `s`.`_palimpsest_ov` AS `version_number`,
  CAST(TIMESTAMP_MICROS(:p_version) AS TIMESTAMP) AS `subsequent_version_number`
FROM `p_changed` AS `s`
UNION ALL
SELECT
  `s`.`_palimpsest_o0` AS `k`,
  `s`.`_palimpsest_o1` AS `a`,
  `s`.`_palimpsest_o2` AS `b`,
  CAST(TIMESTAMP_MICROS(:p_version) AS TIMESTAMP) AS `version_number`,
  CAST(TIMESTAMP_MICROS(:p_version) AS TIMESTAMP) AS `subsequent_version_number`
FROM `p_changed` AS `s`;
