-- DISTINCT and an expression without a name keep the name that the store gives.
-- stores: embedded, postgresql, hive
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR);
INSERT INTO main.t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, 30, 'x'), (4, NULL, 'z');
UPDATE main.t SET a = 31 WHERE k = 3;
DELETE FROM main.t WHERE k = 4;
-- statement
SELECT DISTINCT upper(b) FROM main.t;
-- plan: embedded
-- 1. result
SELECT p."_palimpsest_g0" AS "upper(b)"
FROM (
  SELECT UPPER(b) AS _palimpsest_g0, COUNT(*) AS _palimpsest_rows
  FROM (SELECT "k", "a", "b" FROM _palimpsest.t1_base) AS "t"
  GROUP BY UPPER(b)
  UNION ALL
  SELECT
    w."_palimpsest_g0",
    CASE WHEN w."_palimpsest_sign" < 0 THEN -w."_palimpsest_rows" ELSE w."_palimpsest_rows"
    END AS _palimpsest_rows
  FROM (
    SELECT UPPER(b) AS _palimpsest_g0, COUNT(*) AS _palimpsest_rows, "_palimpsest_sign"
    FROM (
      SELECT "k", "a", "b", CASE WHEN "subsequent_version_number" IS NULL THEN 1 ELSE -1 END AS "_palimpsest_sign"
      FROM (
        SELECT "k", "a", "b", "version_number", "subsequent_version_number"
        FROM _palimpsest.t1_delta
        UNION ALL
        SELECT "k", "a", "b", "version_number", "subsequent_version_number"
        FROM _palimpsest.t1_head
      ) AS o
      WHERE "subsequent_version_number" IS NULL OR "subsequent_version_number" > "version_number"
    ) AS "t"
    GROUP BY UPPER(b), "_palimpsest_sign"
  ) AS w
) AS "p"
GROUP BY p."_palimpsest_g0"
HAVING SUM(p."_palimpsest_rows") > 0;
-- plan: postgresql
-- 1. result
SELECT "p"."_palimpsest_g0" AS "upper(b)"
FROM (
  SELECT UPPER("b") AS "_palimpsest_g0", COUNT(*) AS "_palimpsest_rows"
  FROM (SELECT "k", "a", "b" FROM "_palimpsest"."t1_base") AS "t"
  GROUP BY UPPER("b")
  UNION ALL
  SELECT
    "w"."_palimpsest_g0",
    CASE WHEN "w"."_palimpsest_sign" < 0 THEN -"w"."_palimpsest_rows" ELSE "w"."_palimpsest_rows"
    END AS "_palimpsest_rows"
  FROM (
    SELECT UPPER("b") AS "_palimpsest_g0", COUNT(*) AS "_palimpsest_rows", "_palimpsest_sign"
    FROM (
      SELECT "k", "a", "b", CASE WHEN "subsequent_version_number" IS NULL THEN 1 ELSE -1 END AS "_palimpsest_sign"
      FROM (
        SELECT "k", "a", "b", "version_number", "subsequent_version_number"
        FROM "_palimpsest"."t1_delta"
        UNION ALL
        SELECT "k", "a", "b", "version_number", "subsequent_version_number"
        FROM "_palimpsest"."t1_head"
      ) AS "o"
      WHERE "subsequent_version_number" IS NULL OR "subsequent_version_number" > "version_number"
    ) AS "t"
    GROUP BY UPPER("b"), "_palimpsest_sign"
  ) AS "w"
) AS "p"
GROUP BY "p"."_palimpsest_g0"
HAVING SUM("p"."_palimpsest_rows") > 0;
-- plan: hive
-- 1. result
SELECT `p`.`_palimpsest_g0` AS `upper(b)`
FROM (
  SELECT UPPER(`b`) AS `_palimpsest_g0`, COUNT(*) AS `_palimpsest_rows`
  FROM (SELECT `k`, `a`, `b` FROM `_palimpsest`.`t1_base`) AS `t`
  GROUP BY UPPER(`b`)
  UNION ALL
  SELECT
    `w`.`_palimpsest_g0`,
    CASE WHEN `w`.`_palimpsest_sign` < 0 THEN -`w`.`_palimpsest_rows` ELSE `w`.`_palimpsest_rows`
    END AS `_palimpsest_rows`
  FROM (
    SELECT UPPER(`b`) AS `_palimpsest_g0`, COUNT(*) AS `_palimpsest_rows`, `_palimpsest_sign`
    FROM (
      SELECT `k`, `a`, `b`, CASE WHEN `subsequent_version_number` IS NULL THEN 1 ELSE -1 END AS `_palimpsest_sign`
      FROM (
        SELECT `k`, `a`, `b`, `version_number`, `subsequent_version_number`
        FROM `_palimpsest`.`t1_delta`
        UNION ALL
        SELECT `k`, `a`, `b`, `version_number`, `subsequent_version_number`
        FROM `_palimpsest`.`t1_head`
      ) AS `o`
      WHERE `subsequent_version_number` IS NULL OR `subsequent_version_number` > `version_number`
    ) AS `t`
    GROUP BY UPPER(`b`), `_palimpsest_sign`
  ) AS `w`
) AS `p`
GROUP BY `p`.`_palimpsest_g0`
HAVING SUM(`p`.`_palimpsest_rows`) > 0;
