-- INTERSECT.
-- stores: embedded, postgresql, hive
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER);
CREATE TABLE main.u (a INTEGER);
INSERT INTO main.t VALUES (1, 10), (2, 20);
INSERT INTO main.u VALUES (20), (30);
-- statement
SELECT a FROM main.t INTERSECT SELECT a FROM main.u;
-- plan: embedded
-- 1. result
SELECT a
FROM (
  SELECT o."k", o."a"
  FROM (
    SELECT "k", "a", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_base
    UNION ALL
    SELECT "k", "a", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_delta
    WHERE "subsequent_version_number" IS NULL
    UNION ALL
    SELECT "k", "a", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_head
    WHERE "subsequent_version_number" IS NULL
  ) AS o
  ANTI JOIN (
    SELECT "k", "a", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_delta
    UNION ALL
    SELECT "k", "a", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_head
  ) AS c
    ON (c."k" = o."k" AND c."version_number" = o."version_number")
    AND c."subsequent_version_number" > c."version_number"
) AS "t"
INTERSECT
SELECT a
FROM (
  SELECT o."a"
  FROM (
    SELECT "a", "_row_id", "version_number", "subsequent_version_number"
    FROM _palimpsest.t2_base
    UNION ALL
    SELECT "a", "_row_id", "version_number", "subsequent_version_number"
    FROM _palimpsest.t2_delta
    WHERE "subsequent_version_number" IS NULL
    UNION ALL
    SELECT "a", "_row_id", "version_number", "subsequent_version_number"
    FROM _palimpsest.t2_head
    WHERE "subsequent_version_number" IS NULL
  ) AS o
  ANTI JOIN (
    SELECT "a", "_row_id", "version_number", "subsequent_version_number"
    FROM _palimpsest.t2_delta
    UNION ALL
    SELECT "a", "_row_id", "version_number", "subsequent_version_number"
    FROM _palimpsest.t2_head
  ) AS c
    ON (c."_row_id" = o."_row_id" AND c."version_number" = o."version_number")
    AND c."subsequent_version_number" > c."version_number"
) AS "u";
-- plan: postgresql
-- 1. result
SELECT "a"
FROM (
  SELECT "o"."k", "o"."a"
  FROM (
    SELECT "k", "a", "version_number", "subsequent_version_number"
    FROM "_palimpsest"."t1_base"
    UNION ALL
    SELECT "k", "a", "version_number", "subsequent_version_number"
    FROM "_palimpsest"."t1_delta"
    UNION ALL
    SELECT "k", "a", "version_number", "subsequent_version_number"
    FROM "_palimpsest"."t1_head"
  ) AS "o"
  WHERE
    "o"."subsequent_version_number" IS NULL
    AND NOT EXISTS(
      SELECT 1
      FROM (
        SELECT "k", "a", "version_number", "subsequent_version_number"
        FROM "_palimpsest"."t1_delta"
        UNION ALL
        SELECT "k", "a", "version_number", "subsequent_version_number"
        FROM "_palimpsest"."t1_head"
      ) AS "c"
      WHERE
        ("c"."k" = "o"."k" AND "c"."version_number" = "o"."version_number")
        AND (NOT "c"."subsequent_version_number" IS NULL OR "c"."subsequent_version_number" = "c"."version_number")
        AND "c"."subsequent_version_number" > "c"."version_number"
    )
) AS "t"
INTERSECT
SELECT "a"
FROM (
  SELECT "o"."a"
  FROM (
    SELECT "a", "_row_id", "version_number", "subsequent_version_number"
    FROM "_palimpsest"."t2_base"
    UNION ALL
    SELECT "a", "_row_id", "version_number", "subsequent_version_number"
    FROM "_palimpsest"."t2_delta"
    UNION ALL
    SELECT "a", "_row_id", "version_number", "subsequent_version_number"
    FROM "_palimpsest"."t2_head"
  ) AS "o"
  WHERE
    "o"."subsequent_version_number" IS NULL
    AND NOT EXISTS(
      SELECT 1
      FROM (
        SELECT "a", "_row_id", "version_number", "subsequent_version_number"
        FROM "_palimpsest"."t2_delta"
        UNION ALL
        SELECT "a", "_row_id", "version_number", "subsequent_version_number"
        FROM "_palimpsest"."t2_head"
      ) AS "c"
      WHERE
        ("c"."_row_id" = "o"."_row_id" AND "c"."version_number" = "o"."version_number")
        AND (NOT "c"."subsequent_version_number" IS NULL OR "c"."subsequent_version_number" = "c"."version_number")
        AND "c"."subsequent_version_number" > "c"."version_number"
    )
) AS "u";
-- plan: hive
-- 1. result
SELECT `a`
FROM (
  SELECT `o`.`k`, `o`.`a`
  FROM (
    SELECT `k`, `a`, `version_number`, `subsequent_version_number`
    FROM `_palimpsest`.`t1_base`
    UNION ALL
    SELECT `k`, `a`, `version_number`, `subsequent_version_number`
    FROM `_palimpsest`.`t1_delta`
    WHERE `subsequent_version_number` IS NULL
    UNION ALL
    SELECT `k`, `a`, `version_number`, `subsequent_version_number`
    FROM `_palimpsest`.`t1_head`
    WHERE `subsequent_version_number` IS NULL
  ) AS `o`
  ANTI JOIN (
    SELECT `k`, `a`, `version_number`, `subsequent_version_number`
    FROM `_palimpsest`.`t1_delta`
    UNION ALL
    SELECT `k`, `a`, `version_number`, `subsequent_version_number`
    FROM `_palimpsest`.`t1_head`
  ) AS `c`
    ON (`c`.`k` = `o`.`k` AND `c`.`version_number` = `o`.`version_number`)
    AND `c`.`subsequent_version_number` > `c`.`version_number`
) AS `t`
INTERSECT
SELECT `a`
FROM (
  SELECT `o`.`a`
  FROM (
    SELECT `a`, `_row_id`, `version_number`, `subsequent_version_number`
    FROM `_palimpsest`.`t2_base`
    UNION ALL
    SELECT `a`, `_row_id`, `version_number`, `subsequent_version_number`
    FROM `_palimpsest`.`t2_delta`
    WHERE `subsequent_version_number` IS NULL
    UNION ALL
    SELECT `a`, `_row_id`, `version_number`, `subsequent_version_number`
    FROM `_palimpsest`.`t2_head`
    WHERE `subsequent_version_number` IS NULL
  ) AS `o`
  ANTI JOIN (
    SELECT `a`, `_row_id`, `version_number`, `subsequent_version_number`
    FROM `_palimpsest`.`t2_delta`
    UNION ALL
    SELECT `a`, `_row_id`, `version_number`, `subsequent_version_number`
    FROM `_palimpsest`.`t2_head`
  ) AS `c`
    ON (`c`.`_row_id` = `o`.`_row_id` AND `c`.`version_number` = `o`.`version_number`)
    AND `c`.`subsequent_version_number` > `c`.`version_number`
) AS `u`;
