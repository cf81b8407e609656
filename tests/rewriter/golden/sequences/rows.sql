-- The rows are kept and counted, then numbered; an output behind CASE counts its own rows.
-- stores: embedded, postgresql, hive
-- run: no: numbers are counted by a session
-- setup
CREATE SEQUENCE main.s INCREMENT BY 2;
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER);
-- statement
SELECT nextval('s') AS n, CASE WHEN a > 1 THEN nextval('s') END AS m FROM main.t ORDER BY a;
-- plan: embedded
-- 1. keep as "p_rows_1"
SELECT "c0", "c1", "d0", "d1", ROW_NUMBER() OVER () AS place
FROM (
  SELECT 0 AS "n", 0 AS "m", CASE WHEN a > 1 THEN TRUE ELSE FALSE END AS d0, a > 1 AS d1
  FROM (
    SELECT o."k", o."a"
    FROM (
      SELECT "k", "a", "version_number", "subsequent_version_number"
      FROM _palimpsest.t2_base
      UNION ALL
      SELECT "k", "a", "version_number", "subsequent_version_number"
      FROM _palimpsest.t2_delta
      WHERE "subsequent_version_number" IS NULL
      UNION ALL
      SELECT "k", "a", "version_number", "subsequent_version_number"
      FROM _palimpsest.t2_head
      WHERE "subsequent_version_number" IS NULL
    ) AS o
    ANTI JOIN (
      SELECT "k", "a", "version_number", "subsequent_version_number"
      FROM _palimpsest.t2_delta
      UNION ALL
      SELECT "k", "a", "version_number", "subsequent_version_number"
      FROM _palimpsest.t2_head
    ) AS c
      ON (c."k" = o."k" AND c."version_number" = o."version_number")
      AND c."subsequent_version_number" > c."version_number"
  ) AS "t"
  ORDER BY a
) AS q(c0, c1, d0, d1);
-- 2. keep as "p_some_2"
SELECT 1 AS one
FROM p_rows_1
WHERE "d0";
-- 3. take numbers of main.s as p_next_3
-- 4. take numbers of main.s as p_next_4
-- 5. result
SELECT
  (CAST($p_next_4 AS BIGINT) + (ROW_NUMBER() OVER (ORDER BY "place") - 1) * CAST(2 AS BIGINT)) AS "n",
  CASE
    WHEN "d1"
    THEN (
      CAST($p_next_3 AS BIGINT) + (ROW_NUMBER() OVER (PARTITION BY "d0" ORDER BY "place") - 1) * CAST(2 AS BIGINT)
    )
  END AS "m"
FROM p_rows_1
ORDER BY "place";
-- plan: postgresql
-- 1. keep as "p_rows_1"
SELECT "c0", "c1", "d0", "d1", ROW_NUMBER() OVER () AS "place"
FROM (
  SELECT 0 AS "n", 0 AS "m", CASE WHEN "a" > 1 THEN TRUE ELSE FALSE END AS "d0", "a" > 1 AS "d1"
  FROM (
    SELECT "o"."k", "o"."a"
    FROM (
      SELECT "k", "a", "version_number", "subsequent_version_number"
      FROM "_palimpsest"."t2_base"
      UNION ALL
      SELECT "k", "a", "version_number", "subsequent_version_number"
      FROM "_palimpsest"."t2_delta"
      UNION ALL
      SELECT "k", "a", "version_number", "subsequent_version_number"
      FROM "_palimpsest"."t2_head"
    ) AS "o"
    WHERE
      "o"."subsequent_version_number" IS NULL
      AND NOT EXISTS(
        SELECT 1
        FROM (
          SELECT "k", "a", "version_number", "subsequent_version_number"
          FROM "_palimpsest"."t2_delta"
          UNION ALL
          SELECT "k", "a", "version_number", "subsequent_version_number"
          FROM "_palimpsest"."t2_head"
        ) AS "c"
        WHERE
          ("c"."k" = "o"."k" AND "c"."version_number" = "o"."version_number")
          AND (NOT "c"."subsequent_version_number" IS NULL OR "c"."subsequent_version_number" = "c"."version_number")
          AND "c"."subsequent_version_number" > "c"."version_number"
      )
  ) AS "t"
  ORDER BY "a"
) AS "q"("c0", "c1", "d0", "d1");
-- 2. keep as "p_some_2"
SELECT 1 AS "one"
FROM "p_rows_1"
WHERE "d0";
-- 3. take numbers of main.s as p_next_3
-- 4. take numbers of main.s as p_next_4
-- 5. result
SELECT
  (CAST($1 AS BIGINT) + (ROW_NUMBER() OVER (ORDER BY "place") - 1) * CAST(2 AS BIGINT)) AS "n",
  CASE
    WHEN "d1"
    THEN (CAST($2 AS BIGINT) + (ROW_NUMBER() OVER (PARTITION BY "d0" ORDER BY "place") - 1) * CAST(2 AS BIGINT))
  END AS "m"
FROM "p_rows_1"
ORDER BY "place";
-- plan: hive
-- 1. keep as "p_rows_1"
SELECT `c0`, `c1`, `d0`, `d1`, ROW_NUMBER() OVER (ORDER BY NULL) AS `place`
FROM (
  SELECT 0 AS `n`, 0 AS `m`, CASE WHEN `a` > 1 THEN TRUE ELSE FALSE END AS `d0`, `a` > 1 AS `d1`
  FROM (
    SELECT `o`.`k`, `o`.`a`
    FROM (
      SELECT `k`, `a`, `version_number`, `subsequent_version_number`
      FROM `_palimpsest`.`t2_base`
      UNION ALL
      SELECT `k`, `a`, `version_number`, `subsequent_version_number`
      FROM `_palimpsest`.`t2_delta`
      WHERE `subsequent_version_number` IS NULL
      UNION ALL
      SELECT `k`, `a`, `version_number`, `subsequent_version_number`
      FROM `_palimpsest`.`t2_head`
      WHERE `subsequent_version_number` IS NULL
    ) AS `o`
    ANTI JOIN (
      SELECT `k`, `a`, `version_number`, `subsequent_version_number`
      FROM `_palimpsest`.`t2_delta`
      UNION ALL
      SELECT `k`, `a`, `version_number`, `subsequent_version_number`
      FROM `_palimpsest`.`t2_head`
    ) AS `c`
      ON (`c`.`k` = `o`.`k` AND `c`.`version_number` = `o`.`version_number`)
      AND `c`.`subsequent_version_number` > `c`.`version_number`
  ) AS `t`
  ORDER BY `a` NULLS LAST
) AS `q`(`c0`, `c1`, `d0`, `d1`);
-- 2. keep as "p_some_2"
SELECT 1 AS `one`
FROM `p_rows_1`
WHERE `d0`;
-- 3. take numbers of main.s as p_next_3
-- 4. take numbers of main.s as p_next_4
-- 5. result
SELECT
  (CAST(:p_next_4 AS BIGINT) + (ROW_NUMBER() OVER (ORDER BY `place` NULLS LAST) - 1) * CAST(2 AS BIGINT)) AS `n`,
  CASE
    WHEN `d1`
    THEN (
      CAST(:p_next_3 AS BIGINT) + (
        ROW_NUMBER() OVER (PARTITION BY `d0` ORDER BY `place` NULLS LAST) - 1
      ) * CAST(2 AS BIGINT)
    )
  END AS `m`
FROM `p_rows_1`
ORDER BY `place`;
