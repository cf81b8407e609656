-- Rows outside of the predicate have NULL, which equals nothing.
-- stores: embedded, postgresql, hive
-- run: no, DuckDB has no partial indexes
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR);
INSERT INTO main.t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, NULL, 'z'), (4, NULL, NULL);
UPDATE main.t SET a = 11 WHERE k = 1;
DELETE FROM main.t WHERE k = 2;
CREATE UNIQUE INDEX i ON main.t (a) WHERE b <> 'x';
-- statement
UPDATE main.t SET a = 11 WHERE k = 3;
-- plan: embedded
-- 1. keep as "p_changed"
SELECT
  t."k" AS _palimpsest_o0,
  t."a" AS _palimpsest_o1,
  t."b" AS _palimpsest_o2,
  t."_palimpsest_version" AS _palimpsest_ov,
  CAST(11 AS INT) AS _palimpsest_n1
FROM (
  SELECT "k", "a", "b", "version_number" AS "_palimpsest_version"
  FROM (
    SELECT *
    FROM (
      SELECT "k", "a", "b", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_base
      WHERE "k" = 3
      UNION ALL
      SELECT "k", "a", "b", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_delta
      WHERE "k" = 3
      UNION ALL
      SELECT "k", "a", "b", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_head
      WHERE "k" = 3
    ) AS u
    ORDER BY COALESCE("subsequent_version_number", "version_number") DESC, "subsequent_version_number" NULLS FIRST
    LIMIT 1
  ) AS o
  WHERE o."subsequent_version_number" IS NULL
) AS "t"
WHERE k = 3;
-- 2. check: PAL-301 (23505) if it returns a row: duplicate key (a) = (..) violates "i" of main.t
SELECT shown
FROM (
  SELECT CONCAT_WS(', ', CAST(CASE WHEN (s."_palimpsest_o2" <> 'x') THEN s."_palimpsest_n1" END AS TEXT)) AS shown
  FROM p_changed AS s
  WHERE NOT CASE WHEN (s."_palimpsest_o2" <> 'x') THEN s."_palimpsest_n1" END IS NULL
  GROUP BY CASE WHEN (s."_palimpsest_o2" <> 'x') THEN s."_palimpsest_n1" END
  HAVING COUNT(*) > 1
  UNION ALL
  SELECT CONCAT_WS(', ', CAST(CASE WHEN (s."_palimpsest_o2" <> 'x') THEN s."_palimpsest_n1" END AS TEXT)) AS shown
  FROM p_changed AS s
  JOIN (
    SELECT o."k", o."a", o."b", o."version_number"
    FROM (
      SELECT "k", "a", "b", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_base
      UNION ALL
      SELECT "k", "a", "b", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_delta
      WHERE "subsequent_version_number" IS NULL
      UNION ALL
      SELECT "k", "a", "b", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_head
      WHERE "subsequent_version_number" IS NULL
    ) AS o
    ANTI JOIN (
      SELECT "k", "a", "b", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_delta
      UNION ALL
      SELECT "k", "a", "b", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_head
    ) AS c
      ON (c."k" = o."k" AND c."version_number" = o."version_number")
      AND c."subsequent_version_number" > c."version_number"
  ) AS c
    ON CASE WHEN (c."b" <> 'x') THEN c."a" END = CASE WHEN (s."_palimpsest_o2" <> 'x') THEN s."_palimpsest_n1" END
  WHERE
    NOT CASE WHEN (s."_palimpsest_o2" <> 'x') THEN s."_palimpsest_n1" END IS NULL
    AND NOT EXISTS(SELECT 1 FROM p_changed AS e WHERE e."_palimpsest_o0" = c."k")
) AS g
LIMIT 1;
-- 3. append to main.t_journal
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
-- plan: postgresql
-- 1. keep as "p_changed"
SELECT
  "t"."k" AS "_palimpsest_o0",
  "t"."a" AS "_palimpsest_o1",
  "t"."b" AS "_palimpsest_o2",
  "t"."_palimpsest_version" AS "_palimpsest_ov",
  CAST(11 AS INT) AS "_palimpsest_n1"
FROM (
  SELECT "k", "a", "b", "version_number" AS "_palimpsest_version"
  FROM (
    SELECT *
    FROM (
      SELECT "k", "a", "b", "version_number", "subsequent_version_number"
      FROM "_palimpsest"."t1_base"
      WHERE "k" = 3
      UNION ALL
      SELECT "k", "a", "b", "version_number", "subsequent_version_number"
      FROM "_palimpsest"."t1_delta"
      WHERE "k" = 3
      UNION ALL
      SELECT "k", "a", "b", "version_number", "subsequent_version_number"
      FROM "_palimpsest"."t1_head"
      WHERE "k" = 3
    ) AS "u"
    ORDER BY
      COALESCE("subsequent_version_number", "version_number") DESC NULLS LAST,
      "subsequent_version_number" NULLS FIRST
    LIMIT 1
  ) AS "o"
  WHERE "o"."subsequent_version_number" IS NULL
) AS "t"
WHERE "k" = 3;
-- 2. check: PAL-301 (23505) if it returns a row: duplicate key (a) = (..) violates "i" of main.t
SELECT "shown"
FROM (
  SELECT
    CONCAT_WS(', ', CAST(CASE WHEN ("s"."_palimpsest_o2" <> 'x') THEN "s"."_palimpsest_n1" END AS TEXT)) AS "shown"
  FROM "p_changed" AS "s"
  WHERE NOT CASE WHEN ("s"."_palimpsest_o2" <> 'x') THEN "s"."_palimpsest_n1" END IS NULL
  GROUP BY CASE WHEN ("s"."_palimpsest_o2" <> 'x') THEN "s"."_palimpsest_n1" END
  HAVING COUNT(*) > 1
  UNION ALL
  SELECT
    CONCAT_WS(', ', CAST(CASE WHEN ("s"."_palimpsest_o2" <> 'x') THEN "s"."_palimpsest_n1" END AS TEXT)) AS "shown"
  FROM "p_changed" AS "s"
  JOIN (
    SELECT "o"."k", "o"."a", "o"."b", "o"."version_number"
    FROM (
      SELECT "k", "a", "b", "version_number", "subsequent_version_number"
      FROM "_palimpsest"."t1_base"
      UNION ALL
      SELECT "k", "a", "b", "version_number", "subsequent_version_number"
      FROM "_palimpsest"."t1_delta"
      UNION ALL
      SELECT "k", "a", "b", "version_number", "subsequent_version_number"
      FROM "_palimpsest"."t1_head"
    ) AS "o"
    WHERE
      "o"."subsequent_version_number" IS NULL
      AND NOT EXISTS(
        SELECT 1
        FROM (
          SELECT "k", "a", "b", "version_number", "subsequent_version_number"
          FROM "_palimpsest"."t1_delta"
          UNION ALL
          SELECT "k", "a", "b", "version_number", "subsequent_version_number"
          FROM "_palimpsest"."t1_head"
        ) AS "c"
        WHERE
          ("c"."k" = "o"."k" AND "c"."version_number" = "o"."version_number")
          AND (NOT "c"."subsequent_version_number" IS NULL OR "c"."subsequent_version_number" = "c"."version_number")
          AND "c"."subsequent_version_number" > "c"."version_number"
      )
  ) AS "c"
    ON CASE WHEN (
      "c"."b" <> 'x'
    ) THEN "c"."a" END = CASE WHEN ("s"."_palimpsest_o2" <> 'x') THEN "s"."_palimpsest_n1" END
  WHERE
    NOT CASE WHEN ("s"."_palimpsest_o2" <> 'x') THEN "s"."_palimpsest_n1" END IS NULL
    AND NOT EXISTS(SELECT 1 FROM "p_changed" AS "e" WHERE "e"."_palimpsest_o0" = "c"."k")
) AS "g"
LIMIT 1;
-- 3. append to main.t_journal
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
FROM "p_changed" AS "s";
-- plan: hive
-- 1. keep as "p_changed"
SELECT
  `t`.`k` AS `_palimpsest_o0`,
  `t`.`a` AS `_palimpsest_o1`,
  `t`.`b` AS `_palimpsest_o2`,
  `t`.`_palimpsest_version` AS `_palimpsest_ov`,
  CAST(11 AS INT) AS `_palimpsest_n1`
FROM (
  SELECT `k`, `a`, `b`, `version_number` AS `_palimpsest_version`
  FROM (
    SELECT *
    FROM (
      SELECT `k`, `a`, `b`, `version_number`, `subsequent_version_number`
      FROM `_palimpsest`.`t1_base`
      WHERE `k` = 3
      UNION ALL
      SELECT `k`, `a`, `b`, `version_number`, `subsequent_version_number`
      FROM `_palimpsest`.`t1_delta`
      WHERE `k` = 3
      UNION ALL
      SELECT `k`, `a`, `b`, `version_number`, `subsequent_version_number`
      FROM `_palimpsest`.`t1_head`
      WHERE `k` = 3
    ) AS `u`
    ORDER BY COALESCE(`subsequent_version_number`, `version_number`) DESC, `subsequent_version_number`
    LIMIT 1
  ) AS `o`
  WHERE `o`.`subsequent_version_number` IS NULL
) AS `t`
WHERE `k` = 3;
-- 2. check: PAL-301 (23505) if it returns a row: duplicate key (a) = (..) violates "i" of main.t
SELECT `shown`
FROM (
  SELECT
    CONCAT_WS(', ', CAST(CASE WHEN (`s`.`_palimpsest_o2` <> 'x') THEN `s`.`_palimpsest_n1` END AS STRING)) AS `shown`
  FROM `p_changed` AS `s`
  WHERE NOT CASE WHEN (`s`.`_palimpsest_o2` <> 'x') THEN `s`.`_palimpsest_n1` END IS NULL
  GROUP BY CASE WHEN (`s`.`_palimpsest_o2` <> 'x') THEN `s`.`_palimpsest_n1` END
  HAVING COUNT(*) > 1
  UNION ALL
  SELECT
    CONCAT_WS(', ', CAST(CASE WHEN (`s`.`_palimpsest_o2` <> 'x') THEN `s`.`_palimpsest_n1` END AS STRING)) AS `shown`
  FROM `p_changed` AS `s`
  JOIN (
    SELECT `o`.`k`, `o`.`a`, `o`.`b`, `o`.`version_number`
    FROM (
      SELECT `k`, `a`, `b`, `version_number`, `subsequent_version_number`
      FROM `_palimpsest`.`t1_base`
      UNION ALL
      SELECT `k`, `a`, `b`, `version_number`, `subsequent_version_number`
      FROM `_palimpsest`.`t1_delta`
      WHERE `subsequent_version_number` IS NULL
      UNION ALL
      SELECT `k`, `a`, `b`, `version_number`, `subsequent_version_number`
      FROM `_palimpsest`.`t1_head`
      WHERE `subsequent_version_number` IS NULL
    ) AS `o`
    ANTI JOIN (
      SELECT `k`, `a`, `b`, `version_number`, `subsequent_version_number`
      FROM `_palimpsest`.`t1_delta`
      UNION ALL
      SELECT `k`, `a`, `b`, `version_number`, `subsequent_version_number`
      FROM `_palimpsest`.`t1_head`
    ) AS `c`
      ON (`c`.`k` = `o`.`k` AND `c`.`version_number` = `o`.`version_number`)
      AND `c`.`subsequent_version_number` > `c`.`version_number`
  ) AS `c`
    ON CASE WHEN (
      `c`.`b` <> 'x'
    ) THEN `c`.`a` END = CASE WHEN (`s`.`_palimpsest_o2` <> 'x') THEN `s`.`_palimpsest_n1` END
  WHERE
    NOT CASE WHEN (`s`.`_palimpsest_o2` <> 'x') THEN `s`.`_palimpsest_n1` END IS NULL
    AND NOT EXISTS(SELECT 1 FROM `p_changed` AS `e` WHERE `e`.`_palimpsest_o0` = `c`.`k`)
) AS `g`
LIMIT 1;
-- 3. append to main.t_journal
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
