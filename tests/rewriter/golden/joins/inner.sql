-- Each table becomes a relation of its own.
-- stores: embedded, postgresql, hive
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR);
INSERT INTO main.t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, 30, 'x'), (4, NULL, 'z');
UPDATE main.t SET a = 31 WHERE k = 3;
DELETE FROM main.t WHERE k = 4;
CREATE TABLE main.u (k INTEGER PRIMARY KEY, t INTEGER, n INTEGER);
INSERT INTO main.u VALUES (1, 1, 100), (2, 1, 200), (3, 9, 300);
-- statement
SELECT t.k, u.n FROM main.t AS t JOIN main.u AS u ON u.t = t.k;
-- plan: embedded
-- 1. result
SELECT t.k, u.n
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
) AS t
JOIN (
  SELECT o."k", o."t", o."n"
  FROM (
    SELECT "k", "t", "n", "version_number", "subsequent_version_number"
    FROM _palimpsest.t2_base
    UNION ALL
    SELECT "k", "t", "n", "version_number", "subsequent_version_number"
    FROM _palimpsest.t2_delta
    WHERE "subsequent_version_number" IS NULL
    UNION ALL
    SELECT "k", "t", "n", "version_number", "subsequent_version_number"
    FROM _palimpsest.t2_head
    WHERE "subsequent_version_number" IS NULL
  ) AS o
  ANTI JOIN (
    SELECT "k", "t", "n", "version_number", "subsequent_version_number"
    FROM _palimpsest.t2_delta
    UNION ALL
    SELECT "k", "t", "n", "version_number", "subsequent_version_number"
    FROM _palimpsest.t2_head
  ) AS c
    ON (c."k" = o."k" AND c."version_number" = o."version_number")
    AND c."subsequent_version_number" > c."version_number"
) AS u ON u.t = t.k;
-- plan: postgresql
-- 1. result
SELECT "t"."k", "u"."n"
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
JOIN (
  SELECT "o"."k", "o"."t", "o"."n"
  FROM (
    SELECT "k", "t", "n", "version_number", "subsequent_version_number"
    FROM "_palimpsest"."t2_base"
    UNION ALL
    SELECT "k", "t", "n", "version_number", "subsequent_version_number"
    FROM "_palimpsest"."t2_delta"
    UNION ALL
    SELECT "k", "t", "n", "version_number", "subsequent_version_number"
    FROM "_palimpsest"."t2_head"
  ) AS "o"
  WHERE
    "o"."subsequent_version_number" IS NULL
    AND NOT EXISTS(
      SELECT 1
      FROM (
        SELECT "k", "t", "n", "version_number", "subsequent_version_number"
        FROM "_palimpsest"."t2_delta"
        UNION ALL
        SELECT "k", "t", "n", "version_number", "subsequent_version_number"
        FROM "_palimpsest"."t2_head"
      ) AS "c"
      WHERE
        ("c"."k" = "o"."k" AND "c"."version_number" = "o"."version_number")
        AND (NOT "c"."subsequent_version_number" IS NULL OR "c"."subsequent_version_number" = "c"."version_number")
        AND "c"."subsequent_version_number" > "c"."version_number"
    )
) AS "u" ON "u"."t" = "t"."k";
-- plan: hive
-- 1. result
SELECT `t`.`k`, `u`.`n`
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
JOIN (
  SELECT `o`.`k`, `o`.`t`, `o`.`n`
  FROM (
    SELECT `k`, `t`, `n`, `version_number`, `subsequent_version_number`
    FROM `_palimpsest`.`t2_base`
    UNION ALL
    SELECT `k`, `t`, `n`, `version_number`, `subsequent_version_number`
    FROM `_palimpsest`.`t2_delta`
    WHERE `subsequent_version_number` IS NULL
    UNION ALL
    SELECT `k`, `t`, `n`, `version_number`, `subsequent_version_number`
    FROM `_palimpsest`.`t2_head`
    WHERE `subsequent_version_number` IS NULL
  ) AS `o`
  ANTI JOIN (
    SELECT `k`, `t`, `n`, `version_number`, `subsequent_version_number`
    FROM `_palimpsest`.`t2_delta`
    UNION ALL
    SELECT `k`, `t`, `n`, `version_number`, `subsequent_version_number`
    FROM `_palimpsest`.`t2_head`
  ) AS `c`
    ON (`c`.`k` = `o`.`k` AND `c`.`version_number` = `o`.`version_number`)
    AND `c`.`subsequent_version_number` > `c`.`version_number`
) AS `u` ON `u`.`t` = `t`.`k`;
