-- A unique index looks at the rows that are there.
-- stores: embedded, postgresql, hive
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR);
INSERT INTO main.t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, NULL, 'z'), (4, NULL, NULL);
UPDATE main.t SET a = 11 WHERE k = 1;
DELETE FROM main.t WHERE k = 2;
-- statement
CREATE UNIQUE INDEX i ON main.t (a);
-- plan: embedded
-- 1. check: PAL-211 (42P16) if it returns a row:
SELECT 1 AS found
FROM (SELECT CAST(NULL AS INT) AS "k", CAST(NULL AS INT) AS "a", CAST(NULL AS TEXT) AS "b" WHERE FALSE) AS t;
-- 2. check: PAL-301 (23505) if it returns a row: duplicate key (a) = (..) violates "i" of main.t
SELECT CONCAT_WS(', ', CAST(c."a" AS TEXT)) AS shown
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
) AS c
WHERE NOT c."a" IS NULL
GROUP BY c."a"
HAVING COUNT(*) > 1
LIMIT 1;
-- 3. change the catalog: table main.t (key k) with its journal main.t_journal
-- plan: postgresql
-- 1. check: PAL-211 (42P16) if it returns a row:
SELECT 1 AS "found"
FROM (SELECT CAST(NULL AS INT) AS "k", CAST(NULL AS INT) AS "a", CAST(NULL AS TEXT) AS "b" WHERE FALSE) AS "t";
-- 2. check: PAL-301 (23505) if it returns a row: duplicate key (a) = (..) violates "i" of main.t
SELECT CONCAT_WS(', ', CAST("c"."a" AS TEXT)) AS "shown"
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
) AS "c"
WHERE NOT "c"."a" IS NULL
GROUP BY "c"."a"
HAVING COUNT(*) > 1
LIMIT 1;
-- 3. change the catalog: table main.t (key k) with its journal main.t_journal
-- plan: hive
-- 1. check: PAL-211 (42P16) if it returns a row:
SELECT 1 AS `found`
FROM (SELECT CAST(NULL AS INT) AS `k`, CAST(NULL AS INT) AS `a`, CAST(NULL AS STRING) AS `b` WHERE FALSE) AS `t`;
-- 2. check: PAL-301 (23505) if it returns a row: duplicate key (a) = (..) violates "i" of main.t
SELECT CONCAT_WS(', ', CAST(`c`.`a` AS STRING)) AS `shown`
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
) AS `c`
WHERE NOT `c`.`a` IS NULL
GROUP BY `c`.`a`
HAVING COUNT(*) > 1
LIMIT 1;
-- 3. change the catalog: table main.t (key k) with its journal main.t_journal
