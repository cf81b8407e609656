-- The values that are there are cast once, to see that all can be.
-- stores: embedded, postgresql, hive
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR DEFAULT 'none');
INSERT INTO main.t (k, a) VALUES (1, 1), (2, 2), (3, 3);
DELETE FROM main.t WHERE k = 3;
-- statement
ALTER TABLE main.t ALTER COLUMN a TYPE BIGINT;
-- plan: embedded
-- 1. check: PAL-211 (42P16) if it returns a row:
SELECT 1 AS found
FROM (SELECT CAST(NULL AS INT) AS "k", CAST(NULL AS BIGINT) AS "a", CAST(NULL AS TEXT) AS "b" WHERE FALSE) AS t
UNION ALL
SELECT 1 AS found
FROM (
  SELECT ANY_VALUE(CAST('none' AS TEXT)) AS found
  FROM (SELECT 1 AS one) AS d
  HAVING COUNT(*) < 0 AND NOT ANY_VALUE(CAST('none' AS TEXT)) IS NULL
) AS v;
-- 2. check: PAL-241 (55000) if it returns a row: a legal hold by .. (..) finds its rows in main.t by columns that the
-- statement changes or drops
SELECT COALESCE("placed_by", 'somebody') AS "who", "reason"
FROM _palimpsest.holds
WHERE
  (
    ("scope" = 'subject' AND LOWER("subject_column") IN ('a') AND ("table_id" = 1 OR "table_id" IS NULL))
    OR ("scope" = 'predicate' AND "table_id" = 1 AND "predicate" LIKE '%"a"%')
  )
  AND "released_at" IS NULL;
-- 3. keep as "altered"
SELECT CAST(t."a" AS BIGINT) AS _palimpsest_n1, t."version_number" AS _palimpsest_ov
FROM (
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
) AS t;
-- 4. change the catalog: table main.t (key k) with its journal main.t_journal
-- plan: postgresql
-- 1. check: PAL-211 (42P16) if it returns a row:
SELECT 1 AS "found"
FROM (SELECT CAST(NULL AS INT) AS "k", CAST(NULL AS BIGINT) AS "a", CAST(NULL AS TEXT) AS "b" WHERE FALSE) AS "t"
UNION ALL
SELECT 1 AS "found"
FROM (
  SELECT "_palimpsest".any_value(CAST('none' AS TEXT)) AS "found"
  FROM (SELECT 1 AS "one") AS "d"
  HAVING COUNT(*) < 0 AND NOT "_palimpsest".any_value(CAST('none' AS TEXT)) IS NULL
) AS "v";
-- 2. check: PAL-241 (55000) if it returns a row: a legal hold by .. (..) finds its rows in main.t by columns that the
-- statement changes or drops
SELECT COALESCE("placed_by", 'somebody') AS "who", "reason"
FROM "_palimpsest"."holds"
WHERE
  (
    ("scope" = 'subject' AND LOWER("subject_column") IN ('a') AND ("table_id" = 1 OR "table_id" IS NULL))
    OR ("scope" = 'predicate' AND "table_id" = 1 AND "predicate" LIKE '%"a"%')
  )
  AND "released_at" IS NULL;
-- 3. keep as "altered"
SELECT CAST("t"."a" AS BIGINT) AS "_palimpsest_n1", "t"."version_number" AS "_palimpsest_ov"
FROM (
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
) AS "t";
-- 4. change the catalog: table main.t (key k) with its journal main.t_journal
-- plan: hive
-- 1. check: PAL-211 (42P16) if it returns a row:
SELECT 1 AS `found`
FROM (SELECT CAST(NULL AS INT) AS `k`, CAST(NULL AS BIGINT) AS `a`, CAST(NULL AS STRING) AS `b` WHERE FALSE) AS `t`
UNION ALL
SELECT 1 AS `found`
FROM (
  SELECT ANY_VALUE(CAST('none' AS STRING)) AS `found`
  FROM (SELECT 1 AS `one`) AS `d`
  HAVING COUNT(*) < 0 AND NOT ANY_VALUE(CAST('none' AS STRING)) IS NULL
) AS `v`;
-- 2. check: PAL-241 (55000) if it returns a row: a legal hold by .. (..) finds its rows in main.t by columns that the
-- statement changes or drops
SELECT COALESCE(`placed_by`, 'somebody') AS `who`, `reason`
FROM `_palimpsest`.`holds`
WHERE
  (
    (`scope` = 'subject' AND LOWER(`subject_column`) IN ('a') AND (`table_id` = 1 OR `table_id` IS NULL))
    OR (`scope` = 'predicate' AND `table_id` = 1 AND `predicate` LIKE '%"a"%')
  )
  AND `released_at` IS NULL;
-- 3. keep as "altered"
SELECT CAST(`t`.`a` AS BIGINT) AS `_palimpsest_n1`, `t`.`version_number` AS `_palimpsest_ov`
FROM (
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
) AS `t`;
-- 4. change the catalog: table main.t (key k) with its journal main.t_journal
