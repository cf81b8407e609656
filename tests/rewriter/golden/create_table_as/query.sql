-- A table of a query's rows.
-- stores: embedded, postgresql, hive
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR DEFAULT 'none');
INSERT INTO main.t (k, a) VALUES (1, 1), (2, 2), (3, 3);
DELETE FROM main.t WHERE k = 3;
-- statement
CREATE TABLE main.u AS SELECT k, a * 2 AS twice FROM main.t;
-- plan: embedded
-- 1. check: PAL-211 (42P16) if it returns a row:
SELECT 1 AS found
FROM (SELECT CAST(NULL AS UNKNOWN) AS "k", CAST(NULL AS UNKNOWN) AS "twice" WHERE FALSE) AS t;
-- 2. reserve generated numbers for "_row_id" as p_first__row_id
-- 3. keep as "changed"
SELECT
  CAST(r."c0" AS UNKNOWN) AS _palimpsest_n0,
  CAST(r."c1" AS UNKNOWN) AS _palimpsest_n1,
  $p_first__row_id + (ROW_NUMBER() OVER () - 1) AS _palimpsest_n2
FROM (
  SELECT k, a * 2 AS twice
  FROM (
    SELECT o."k", o."a", o."b"
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
  ) AS "t"
) AS r("c0", "c1");
-- 4. change the catalog: table main.u (no key) with its journal main.u_journal
-- 5. append to main.u_journal
SELECT
  s."_palimpsest_n0" AS "k",
  s."_palimpsest_n1" AS "twice",
  s."_palimpsest_n2" AS "_row_id",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "version_number",
  CAST(NULL AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM changed AS s;
-- plan: postgresql
-- 1. check: PAL-211 (42P16) if it returns a row:
SELECT 1 AS "found"
FROM (SELECT CAST(NULL AS UNKNOWN) AS "k", CAST(NULL AS UNKNOWN) AS "twice" WHERE FALSE) AS "t";
-- 2. reserve generated numbers for "_row_id" as p_first__row_id
-- 3. keep as "changed"
SELECT
  CAST("r"."c0" AS UNKNOWN) AS "_palimpsest_n0",
  CAST("r"."c1" AS UNKNOWN) AS "_palimpsest_n1",
  $1 + (ROW_NUMBER() OVER () - 1) AS "_palimpsest_n2"
FROM (
  SELECT "k", "a" * 2 AS "twice"
  FROM (
    SELECT "o"."k", "o"."a", "o"."b"
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
  ) AS "t"
) AS "r"("c0", "c1");
-- 4. change the catalog: table main.u (no key) with its journal main.u_journal
-- 5. append to main.u_journal
SELECT
  "s"."_palimpsest_n0" AS "k",
  "s"."_palimpsest_n1" AS "twice",
  "s"."_palimpsest_n2" AS "_row_id",
  CAST((
    CAST('1970-01-01 00:00:00+00' AS TIMESTAMPTZ) + ($1) * INTERVAL '1 MICROSECOND'
  ) AS TIMESTAMPTZ) AS "version_number",
  CAST(NULL AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM "changed" AS "s";
-- plan: hive
-- 1. check: PAL-211 (42P16) if it returns a row:
SELECT 1 AS `found`
FROM (SELECT CAST(NULL AS UNKNOWN) AS `k`, CAST(NULL AS UNKNOWN) AS `twice` WHERE FALSE) AS `t`;
-- 2. reserve generated numbers for "_row_id" as p_first__row_id
-- 3. keep as "changed"
SELECT
  CAST(`r`.`c0` AS UNKNOWN) AS `_palimpsest_n0`,
  CAST(`r`.`c1` AS UNKNOWN) AS `_palimpsest_n1`,
  :p_first__row_id + (ROW_NUMBER() OVER (ORDER BY NULL) - 1) AS `_palimpsest_n2`
FROM (
  SELECT `k`, `a` * 2 AS `twice`
  FROM (
    SELECT `o`.`k`, `o`.`a`, `o`.`b`
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
  ) AS `t`
) AS `r`(`c0`, `c1`);
-- 4. change the catalog: table main.u (no key) with its journal main.u_journal
-- 5. append to main.u_journal
SELECT
  `s`.`_palimpsest_n0` AS `k`,
  `s`.`_palimpsest_n1` AS `twice`,
  `s`.`_palimpsest_n2` AS `_row_id`,
  CAST(TIMESTAMP_MICROS(:p_version) AS TIMESTAMP) AS `version_number`,
  CAST(NULL AS TIMESTAMP) AS `subsequent_version_number`
FROM `changed` AS `s`;
