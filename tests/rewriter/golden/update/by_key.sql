-- A row that its key finds is changed in one query, whose guards are a condition that fails.
-- stores: embedded, postgresql, hive
-- form: cached
-- setup
CREATE TABLE main.t (
  k INTEGER PRIMARY KEY, a INTEGER NOT NULL CHECK (a > 0), b VARCHAR DEFAULT 'none'
);
INSERT INTO main.t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, 30, 'x');
-- statement
UPDATE main.t SET a = a + 1 WHERE k = 2;
-- plan: embedded, with cached rows
-- 1. append to main.t_journal
WITH p_changed AS MATERIALIZED (
  SELECT
    t."k" AS _palimpsest_o0,
    t."a" AS _palimpsest_o1,
    t."b" AS _palimpsest_o2,
    t."_palimpsest_version" AS _palimpsest_ov,
    CAST(a + 1 AS INT) AS _palimpsest_n1
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
  s."_palimpsest_n1" AS "a",
  s."_palimpsest_o2" AS "b",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "version_number",
  CAST(NULL AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed AS s
WHERE
  CASE
    WHEN s."_palimpsest_n1" IS NULL
    THEN ERROR('_palimpsest refuses a row (0) [a] _palimpsest')
    WHEN NOT (s."_palimpsest_n1" > 0)
    THEN ERROR('_palimpsest refuses a row (1) [] _palimpsest')
    ELSE TRUE
  END;
-- plan: embedded, optimistic
-- 1. append to main.t_journal
WITH p_changed AS MATERIALIZED (
  SELECT
    t."k" AS _palimpsest_o0,
    t."a" AS _palimpsest_o1,
    t."b" AS _palimpsest_o2,
    t."_palimpsest_version" AS _palimpsest_ov,
    CAST(a + 1 AS INT) AS _palimpsest_n1
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
  s."_palimpsest_n1" AS "a",
  s."_palimpsest_o2" AS "b",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "version_number",
  CAST(NULL AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed AS s
WHERE
  CASE
    WHEN s."_palimpsest_n1" IS NULL
    THEN ERROR('_palimpsest refuses a row (0) [a] _palimpsest')
    WHEN NOT (s."_palimpsest_n1" > 0)
    THEN ERROR('_palimpsest refuses a row (1) [] _palimpsest')
    ELSE TRUE
  END;
-- plan: embedded, after a failure
-- 1. keep as "p_changed"
SELECT
  t."k" AS _palimpsest_o0,
  t."a" AS _palimpsest_o1,
  t."b" AS _palimpsest_o2,
  t."_palimpsest_version" AS _palimpsest_ov,
  CAST(a + 1 AS INT) AS _palimpsest_n1
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
WHERE k = 2;
-- 2. check: PAL-302 (23502) if it returns a row: null in column ".." of main.t, which is NOT NULL
SELECT CASE WHEN s."_palimpsest_n1" IS NULL THEN 'a' END AS found
FROM p_changed AS s
WHERE s."_palimpsest_n1" IS NULL
LIMIT 1;
-- 3. check: PAL-303 (23514) if it returns a row: a row violates check "t_a_check" of main.t: "a" > 0
SELECT 1 AS found
FROM p_changed AS s
WHERE NOT (s."_palimpsest_n1" > 0)
LIMIT 1;
-- 4. append to main.t_journal
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
  s."_palimpsest_n1" AS "a",
  s."_palimpsest_o2" AS "b",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "version_number",
  CAST(NULL AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed AS s;
-- plan: postgresql, optimistic
-- 1. append to main.t_journal
WITH "p_changed" AS MATERIALIZED (
  SELECT
    "t"."k" AS "_palimpsest_o0",
    "t"."a" AS "_palimpsest_o1",
    "t"."b" AS "_palimpsest_o2",
    "t"."_palimpsest_version" AS "_palimpsest_ov",
    CAST("a" + 1 AS INT) AS "_palimpsest_n1"
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
  "s"."_palimpsest_n1" AS "a",
  "s"."_palimpsest_o2" AS "b",
  CAST((
    CAST('1970-01-01 00:00:00+00' AS TIMESTAMPTZ) + ($1) * INTERVAL '1 MICROSECOND'
  ) AS TIMESTAMPTZ) AS "version_number",
  CAST(NULL AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM "p_changed" AS "s"
WHERE
  CASE
    WHEN "s"."_palimpsest_n1" IS NULL
    THEN (_palimpsest.fail(('_palimpsest refuses a row (0) [a] _palimpsest')))
    WHEN NOT ("s"."_palimpsest_n1" > 0)
    THEN (_palimpsest.fail(('_palimpsest refuses a row (1) [] _palimpsest')))
    ELSE TRUE
  END;
-- plan: hive
-- 1. keep as "p_changed"
SELECT
  `t`.`k` AS `_palimpsest_o0`,
  `t`.`a` AS `_palimpsest_o1`,
  `t`.`b` AS `_palimpsest_o2`,
  `t`.`_palimpsest_version` AS `_palimpsest_ov`,
  CAST(`a` + 1 AS INT) AS `_palimpsest_n1`
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
WHERE `k` = 2;
-- 2. check: PAL-302 (23502) if it returns a row: null in column ".." of main.t, which is NOT NULL
SELECT CASE WHEN `s`.`_palimpsest_n1` IS NULL THEN 'a' END AS `found`
FROM `p_changed` AS `s`
WHERE `s`.`_palimpsest_n1` IS NULL
LIMIT 1;
-- 3. check: PAL-303 (23514) if it returns a row: a row violates check "t_a_check" of main.t: "a" > 0
SELECT 1 AS `found`
FROM `p_changed` AS `s`
WHERE NOT (`s`.`_palimpsest_n1` > 0)
LIMIT 1;
-- 4. append to main.t_journal
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
  `s`.`_palimpsest_n1` AS `a`,
  `s`.`_palimpsest_o2` AS `b`,
  CAST(TIMESTAMP_MICROS(:p_version) AS TIMESTAMP) AS `version_number`,
  CAST(NULL AS TIMESTAMP) AS `subsequent_version_number`
FROM `p_changed` AS `s`;
