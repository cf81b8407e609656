-- Tables in a macro's body are read as any others.
-- stores: embedded, postgresql, hive
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER);
INSERT INTO main.t VALUES (1, 1);
CREATE MACRO main.big(n) AS TABLE SELECT * FROM t WHERE a >= n;
-- statement
SELECT b.k FROM big(1) AS b;
-- plan: embedded
-- 1. result
SELECT b.k
FROM (
  SELECT *
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
  WHERE a >= (1)
) AS b;
-- plan: postgresql
-- 1. result
SELECT "b"."k"
FROM (
  SELECT *
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
  WHERE "a" >= (1)
) AS "b";
-- plan: hive
-- 1. result
SELECT `b`.`k`
FROM (
  SELECT *
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
  WHERE `a` >= (1)
) AS `b`;
