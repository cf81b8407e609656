-- A sum weighs open rows with 1 and closing rows with -1, so it needs no anti-join.
-- stores: embedded, postgresql, hive
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR);
INSERT INTO main.t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, 30, 'x'), (4, NULL, 'z');
UPDATE main.t SET a = 31 WHERE k = 3;
DELETE FROM main.t WHERE k = 4;
-- statement
SELECT sum(a) AS s, count(*) AS n FROM main.t;
-- plan: embedded
-- 1. result
SELECT
  CASE WHEN SUM(p."_palimpsest_n0") > 0 THEN SUM(p."_palimpsest_s0") END AS "s",
  CAST(COALESCE(SUM(p."_palimpsest_n1"), 0) AS BIGINT) AS "n"
FROM (
  SELECT
    COUNT(a) AS _palimpsest_n0,
    SUM(a) AS _palimpsest_s0,
    COUNT(*) AS _palimpsest_n1,
    COUNT(*) AS _palimpsest_rows
  FROM (SELECT "k", "a", "b" FROM _palimpsest.t1_base) AS "t"
  UNION ALL
  SELECT
    CASE WHEN w."_palimpsest_sign" < 0 THEN -w."_palimpsest_n0" ELSE w."_palimpsest_n0"
    END AS _palimpsest_n0,
    CASE WHEN w."_palimpsest_sign" < 0 THEN -w."_palimpsest_s0" ELSE w."_palimpsest_s0"
    END AS _palimpsest_s0,
    CASE WHEN w."_palimpsest_sign" < 0 THEN -w."_palimpsest_n1" ELSE w."_palimpsest_n1"
    END AS _palimpsest_n1,
    CASE WHEN w."_palimpsest_sign" < 0 THEN -w."_palimpsest_rows" ELSE w."_palimpsest_rows"
    END AS _palimpsest_rows
  FROM (
    SELECT
      COUNT(a) AS _palimpsest_n0,
      SUM(a) AS _palimpsest_s0,
      COUNT(*) AS _palimpsest_n1,
      COUNT(*) AS _palimpsest_rows,
      "_palimpsest_sign"
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
    GROUP BY "_palimpsest_sign"
  ) AS w
) AS "p";
-- plan: postgresql
-- 1. result
SELECT
  CASE WHEN SUM("p"."_palimpsest_n0") > 0 THEN SUM("p"."_palimpsest_s0") END AS "s",
  CAST(COALESCE(SUM("p"."_palimpsest_n1"), 0) AS BIGINT) AS "n"
FROM (
  SELECT
    COUNT("a") AS "_palimpsest_n0",
    SUM("a") AS "_palimpsest_s0",
    COUNT(*) AS "_palimpsest_n1",
    COUNT(*) AS "_palimpsest_rows"
  FROM (SELECT "k", "a", "b" FROM "_palimpsest"."t1_base") AS "t"
  UNION ALL
  SELECT
    CASE WHEN "w"."_palimpsest_sign" < 0 THEN -"w"."_palimpsest_n0" ELSE "w"."_palimpsest_n0"
    END AS "_palimpsest_n0",
    CASE WHEN "w"."_palimpsest_sign" < 0 THEN -"w"."_palimpsest_s0" ELSE "w"."_palimpsest_s0"
    END AS "_palimpsest_s0",
    CASE WHEN "w"."_palimpsest_sign" < 0 THEN -"w"."_palimpsest_n1" ELSE "w"."_palimpsest_n1"
    END AS "_palimpsest_n1",
    CASE WHEN "w"."_palimpsest_sign" < 0 THEN -"w"."_palimpsest_rows" ELSE "w"."_palimpsest_rows"
    END AS "_palimpsest_rows"
  FROM (
    SELECT
      COUNT("a") AS "_palimpsest_n0",
      SUM("a") AS "_palimpsest_s0",
      COUNT(*) AS "_palimpsest_n1",
      COUNT(*) AS "_palimpsest_rows",
      "_palimpsest_sign"
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
    GROUP BY "_palimpsest_sign"
  ) AS "w"
) AS "p";
-- plan: hive
-- 1. result
SELECT
  CASE WHEN SUM(`p`.`_palimpsest_n0`) > 0 THEN SUM(`p`.`_palimpsest_s0`) END AS `s`,
  CAST(COALESCE(SUM(`p`.`_palimpsest_n1`), 0) AS BIGINT) AS `n`
FROM (
  SELECT
    COUNT(`a`) AS `_palimpsest_n0`,
    SUM(`a`) AS `_palimpsest_s0`,
    COUNT(*) AS `_palimpsest_n1`,
    COUNT(*) AS `_palimpsest_rows`
  FROM (SELECT `k`, `a`, `b` FROM `_palimpsest`.`t1_base`) AS `t`
  UNION ALL
  SELECT
    CASE WHEN `w`.`_palimpsest_sign` < 0 THEN -`w`.`_palimpsest_n0` ELSE `w`.`_palimpsest_n0`
    END AS `_palimpsest_n0`,
    CASE WHEN `w`.`_palimpsest_sign` < 0 THEN -`w`.`_palimpsest_s0` ELSE `w`.`_palimpsest_s0`
    END AS `_palimpsest_s0`,
    CASE WHEN `w`.`_palimpsest_sign` < 0 THEN -`w`.`_palimpsest_n1` ELSE `w`.`_palimpsest_n1`
    END AS `_palimpsest_n1`,
    CASE WHEN `w`.`_palimpsest_sign` < 0 THEN -`w`.`_palimpsest_rows` ELSE `w`.`_palimpsest_rows`
    END AS `_palimpsest_rows`
  FROM (
    SELECT
      COUNT(`a`) AS `_palimpsest_n0`,
      SUM(`a`) AS `_palimpsest_s0`,
      COUNT(*) AS `_palimpsest_n1`,
      COUNT(*) AS `_palimpsest_rows`,
      `_palimpsest_sign`
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
    GROUP BY `_palimpsest_sign`
  ) AS `w`
) AS `p`;
