-- A key that is there is changed, another one begins.
-- stores: embedded, postgresql, hive
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR);
INSERT INTO main.t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, 30, 'x'), (4, NULL, 'z');
UPDATE main.t SET a = 31 WHERE k = 3;
DELETE FROM main.t WHERE k = 4;
-- statement
INSERT INTO main.t VALUES (1, 11, 'n'), (9, 90, 'n') ON CONFLICT (k) DO UPDATE SET a = t.a + excluded.a;
-- plan: embedded
-- 1. keep as "p_rows"
SELECT
  r."_palimpsest_c0" AS _palimpsest_n0,
  r."_palimpsest_c1" AS _palimpsest_n1,
  r."_palimpsest_c2" AS _palimpsest_n2,
  ROW_NUMBER() OVER () AS rn
FROM (
  SELECT *
  FROM (VALUES
    (CAST(1 AS INT), CAST(11 AS INT), CAST('n' AS TEXT)),
    (CAST(9 AS INT), CAST(90 AS INT), CAST('n' AS TEXT))) AS v(_palimpsest_c0, _palimpsest_c1, _palimpsest_c2)
) AS r;
-- 2. keep as "p_changed"
SELECT
  t."k" AS _palimpsest_o0,
  t."a" AS _palimpsest_o1,
  t."b" AS _palimpsest_o2,
  t."_palimpsest_version" AS _palimpsest_ov,
  NOT t."_palimpsest_version" IS NULL AS _palimpsest_ends,
  CASE WHEN NOT t."_palimpsest_version" IS NULL THEN t."k" ELSE excluded."k" END AS _palimpsest_n0,
  CASE WHEN NOT t."_palimpsest_version" IS NULL THEN CAST(t.a + excluded."a" AS INT) ELSE excluded."a"
  END AS _palimpsest_n1,
  CASE WHEN NOT t."_palimpsest_version" IS NULL THEN t."b" ELSE excluded."b" END AS _palimpsest_n2
FROM (
  SELECT r."_palimpsest_n0" AS "k", r."_palimpsest_n1" AS "a", r."_palimpsest_n2" AS "b"
  FROM p_rows AS r
  WHERE
    NOT EXISTS(
      SELECT 1
      FROM (SELECT "_palimpsest_n0", MIN("rn") AS rn FROM p_rows AS p_rows GROUP BY "_palimpsest_n0") AS g
      WHERE g."_palimpsest_n0" = r."_palimpsest_n0" AND g."rn" < r."rn"
    )
) AS "excluded"
LEFT JOIN (
  SELECT o."k", o."a", o."b", o."version_number" AS "_palimpsest_version"
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
) AS "t" ON t."k" = excluded."k";
-- 3. check: PAL-302 (23502) if it returns a row: null in column ".." of main.t, which is NOT NULL
SELECT CASE WHEN s."_palimpsest_n0" IS NULL THEN 'k' END AS found
FROM p_changed AS s
WHERE s."_palimpsest_n0" IS NULL
LIMIT 1;
-- 4. append to main.t_journal
SELECT
  s."_palimpsest_o0" AS "k",
  s."_palimpsest_o1" AS "a",
  s."_palimpsest_o2" AS "b",
  s."_palimpsest_ov" AS "version_number",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed AS s
WHERE s."_palimpsest_ends"
UNION ALL
SELECT
  s."_palimpsest_o0" AS "k",
  s."_palimpsest_o1" AS "a",
  s."_palimpsest_o2" AS "b",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "version_number",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed AS s
WHERE s."_palimpsest_ends" AND ((s."_palimpsest_o0" IS DISTINCT FROM s."_palimpsest_n0"))
UNION ALL
SELECT
  s."_palimpsest_n0" AS "k",
  s."_palimpsest_n1" AS "a",
  s."_palimpsest_n2" AS "b",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "version_number",
  CAST(NULL AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed AS s;
-- 5. row count
SELECT COUNT(*)
FROM p_changed;
-- plan: postgresql
-- 1. keep as "p_rows"
SELECT
  "r"."_palimpsest_c0" AS "_palimpsest_n0",
  "r"."_palimpsest_c1" AS "_palimpsest_n1",
  "r"."_palimpsest_c2" AS "_palimpsest_n2",
  ROW_NUMBER() OVER () AS "rn"
FROM (
  SELECT *
  FROM (VALUES
    (CAST(1 AS INT), CAST(11 AS INT), CAST('n' AS TEXT)),
    (CAST(9 AS INT), CAST(90 AS INT), CAST('n' AS TEXT))) AS "v"("_palimpsest_c0", "_palimpsest_c1", "_palimpsest_c2")
) AS "r";
-- 2. keep as "p_changed"
SELECT
  "t"."k" AS "_palimpsest_o0",
  "t"."a" AS "_palimpsest_o1",
  "t"."b" AS "_palimpsest_o2",
  "t"."_palimpsest_version" AS "_palimpsest_ov",
  NOT "t"."_palimpsest_version" IS NULL AS "_palimpsest_ends",
  CASE WHEN NOT "t"."_palimpsest_version" IS NULL THEN "t"."k" ELSE "excluded"."k" END AS "_palimpsest_n0",
  CASE WHEN NOT "t"."_palimpsest_version" IS NULL THEN CAST("t"."a" + "excluded"."a" AS INT) ELSE "excluded"."a"
  END AS "_palimpsest_n1",
  CASE WHEN NOT "t"."_palimpsest_version" IS NULL THEN "t"."b" ELSE "excluded"."b" END AS "_palimpsest_n2"
FROM (
  SELECT "r"."_palimpsest_n0" AS "k", "r"."_palimpsest_n1" AS "a", "r"."_palimpsest_n2" AS "b"
  FROM "p_rows" AS "r"
  WHERE
    NOT EXISTS(
      SELECT 1
      FROM (SELECT "_palimpsest_n0", MIN("rn") AS "rn" FROM "p_rows" AS "p_rows" GROUP BY "_palimpsest_n0") AS "g"
      WHERE "g"."_palimpsest_n0" = "r"."_palimpsest_n0" AND "g"."rn" < "r"."rn"
    )
) AS "excluded"
LEFT JOIN (
  SELECT "o"."k", "o"."a", "o"."b", "o"."version_number" AS "_palimpsest_version"
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
) AS "t" ON "t"."k" = "excluded"."k";
-- 3. check: PAL-302 (23502) if it returns a row: null in column ".." of main.t, which is NOT NULL
SELECT CASE WHEN "s"."_palimpsest_n0" IS NULL THEN 'k' END AS "found"
FROM "p_changed" AS "s"
WHERE "s"."_palimpsest_n0" IS NULL
LIMIT 1;
-- 4. append to main.t_journal
SELECT
  "s"."_palimpsest_o0" AS "k",
  "s"."_palimpsest_o1" AS "a",
  "s"."_palimpsest_o2" AS "b",
  "s"."_palimpsest_ov" AS "version_number",
  CAST((
    CAST('1970-01-01 00:00:00+00' AS TIMESTAMPTZ) + ($1) * INTERVAL '1 MICROSECOND'
  ) AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM "p_changed" AS "s"
WHERE "s"."_palimpsest_ends"
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
FROM "p_changed" AS "s"
WHERE "s"."_palimpsest_ends" AND (("s"."_palimpsest_o0" IS DISTINCT FROM "s"."_palimpsest_n0"))
UNION ALL
SELECT
  "s"."_palimpsest_n0" AS "k",
  "s"."_palimpsest_n1" AS "a",
  "s"."_palimpsest_n2" AS "b",
  CAST((
    CAST('1970-01-01 00:00:00+00' AS TIMESTAMPTZ) + ($1) * INTERVAL '1 MICROSECOND'
  ) AS TIMESTAMPTZ) AS "version_number",
  CAST(NULL AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM "p_changed" AS "s";
-- 5. row count
SELECT COUNT(*)
FROM "p_changed";
-- plan: hive
-- 1. keep as "p_rows"
SELECT
  `r`.`_palimpsest_c0` AS `_palimpsest_n0`,
  `r`.`_palimpsest_c1` AS `_palimpsest_n1`,
  `r`.`_palimpsest_c2` AS `_palimpsest_n2`,
  ROW_NUMBER() OVER (ORDER BY NULL) AS `rn`
FROM (
  SELECT *
  FROM VALUES
    (CAST(1 AS INT), CAST(11 AS INT), CAST('n' AS STRING)),
    (CAST(9 AS INT), CAST(90 AS INT), CAST('n' AS STRING)) AS `v`(`_palimpsest_c0`, `_palimpsest_c1`,
      `_palimpsest_c2`)
) AS `r`;
-- 2. keep as "p_changed"
SELECT
  `t`.`k` AS `_palimpsest_o0`,
  `t`.`a` AS `_palimpsest_o1`,
  `t`.`b` AS `_palimpsest_o2`,
  `t`.`_palimpsest_version` AS `_palimpsest_ov`,
  NOT `t`.`_palimpsest_version` IS NULL AS `_palimpsest_ends`,
  CASE WHEN NOT `t`.`_palimpsest_version` IS NULL THEN `t`.`k` ELSE `excluded`.`k` END AS `_palimpsest_n0`,
  CASE WHEN NOT `t`.`_palimpsest_version` IS NULL THEN CAST(`t`.`a` + `excluded`.`a` AS INT) ELSE `excluded`.`a`
  END AS `_palimpsest_n1`,
  CASE WHEN NOT `t`.`_palimpsest_version` IS NULL THEN `t`.`b` ELSE `excluded`.`b` END AS `_palimpsest_n2`
FROM (
  SELECT `r`.`_palimpsest_n0` AS `k`, `r`.`_palimpsest_n1` AS `a`, `r`.`_palimpsest_n2` AS `b`
  FROM `p_rows` AS `r`
  WHERE
    NOT EXISTS(
      SELECT 1
      FROM (SELECT `_palimpsest_n0`, MIN(`rn`) AS `rn` FROM `p_rows` AS `p_rows` GROUP BY `_palimpsest_n0`) AS `g`
      WHERE `g`.`_palimpsest_n0` = `r`.`_palimpsest_n0` AND `g`.`rn` < `r`.`rn`
    )
) AS `excluded`
LEFT JOIN (
  SELECT `o`.`k`, `o`.`a`, `o`.`b`, `o`.`version_number` AS `_palimpsest_version`
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
) AS `t` ON `t`.`k` = `excluded`.`k`;
-- 3. check: PAL-302 (23502) if it returns a row: null in column ".." of main.t, which is NOT NULL
SELECT CASE WHEN `s`.`_palimpsest_n0` IS NULL THEN 'k' END AS `found`
FROM `p_changed` AS `s`
WHERE `s`.`_palimpsest_n0` IS NULL
LIMIT 1;
-- 4. append to main.t_journal
SELECT
  `s`.`_palimpsest_o0` AS `k`,
  `s`.`_palimpsest_o1` AS `a`,
  `s`.`_palimpsest_o2` AS `b`,
  `s`.`_palimpsest_ov` AS `version_number`,
  CAST(TIMESTAMP_MICROS(:p_version) AS TIMESTAMP) AS `subsequent_version_number`
FROM `p_changed` AS `s`
WHERE `s`.`_palimpsest_ends`
UNION ALL
SELECT
  `s`.`_palimpsest_o0` AS `k`,
  `s`.`_palimpsest_o1` AS `a`,
  `s`.`_palimpsest_o2` AS `b`,
  CAST(TIMESTAMP_MICROS(:p_version) AS TIMESTAMP) AS `version_number`,
  CAST(TIMESTAMP_MICROS(:p_version) AS TIMESTAMP) AS `subsequent_version_number`
FROM `p_changed` AS `s`
WHERE `s`.`_palimpsest_ends` AND ((`s`.`_palimpsest_o0` IS DISTINCT FROM `s`.`_palimpsest_n0`))
UNION ALL
SELECT
  `s`.`_palimpsest_n0` AS `k`,
  `s`.`_palimpsest_n1` AS `a`,
  `s`.`_palimpsest_n2` AS `b`,
  CAST(TIMESTAMP_MICROS(:p_version) AS TIMESTAMP) AS `version_number`,
  CAST(NULL AS TIMESTAMP) AS `subsequent_version_number`
FROM `p_changed` AS `s`;
-- 5. row count
SELECT COUNT(*)
FROM `p_changed`;
