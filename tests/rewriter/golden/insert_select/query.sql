-- Rows of a query: staged once, checked, appended.
-- stores: embedded, postgresql, hive
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR);
INSERT INTO main.t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, 30, 'x'), (4, NULL, 'z');
UPDATE main.t SET a = 31 WHERE k = 3;
DELETE FROM main.t WHERE k = 4;
CREATE TABLE main.u (k INTEGER PRIMARY KEY, t INTEGER, n INTEGER);
INSERT INTO main.u VALUES (1, 1, 100), (2, 1, 200), (3, 9, 300);
-- statement
INSERT INTO main.t SELECT k + 10, n, 'new' FROM main.u;
-- plan: embedded
-- 1. keep as "p_changed"
SELECT
  r."_palimpsest_c0" AS _palimpsest_n0,
  r."_palimpsest_c1" AS _palimpsest_n1,
  r."_palimpsest_c2" AS _palimpsest_n2
FROM (
  SELECT
    CAST(q._palimpsest_c0 AS INT) AS _palimpsest_c0,
    CAST(q._palimpsest_c1 AS INT) AS _palimpsest_c1,
    CAST(q._palimpsest_c2 AS TEXT) AS _palimpsest_c2
  FROM (
    SELECT k + 10, n, 'new'
    FROM (
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
    ) AS "u"
  ) AS q(_palimpsest_c0, _palimpsest_c1, _palimpsest_c2)
) AS r;
-- 2. check: PAL-302 (23502) if it returns a row: null in column ".." of main.t, which is NOT NULL
SELECT CASE WHEN s."_palimpsest_n0" IS NULL THEN 'k' END AS found
FROM p_changed AS s
WHERE s."_palimpsest_n0" IS NULL
LIMIT 1;
-- 3. check: PAL-301 (23505) if it returns a row: duplicate key (k) = (..) violates "t_pkey" of main.t
SELECT shown
FROM (
  SELECT CONCAT_WS(', ', CAST(s."_palimpsest_n0" AS TEXT)) AS shown
  FROM p_changed AS s
  WHERE NOT s."_palimpsest_n0" IS NULL
  GROUP BY s."_palimpsest_n0"
  HAVING COUNT(*) > 1
  UNION ALL
  SELECT CONCAT_WS(', ', CAST(s."_palimpsest_n0" AS TEXT)) AS shown
  FROM p_changed AS s
  JOIN (
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
  ) AS c ON c."k" = s."_palimpsest_n0"
  WHERE NOT s."_palimpsest_n0" IS NULL
) AS g
LIMIT 1;
-- 4. append to main.t_journal
SELECT
  s."_palimpsest_n0" AS "k",
  s."_palimpsest_n1" AS "a",
  s."_palimpsest_n2" AS "b",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "version_number",
  CAST(NULL AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed AS s;
-- plan: postgresql
-- 1. keep as "p_changed"
SELECT
  "r"."_palimpsest_c0" AS "_palimpsest_n0",
  "r"."_palimpsest_c1" AS "_palimpsest_n1",
  "r"."_palimpsest_c2" AS "_palimpsest_n2"
FROM (
  SELECT
    CAST("q"."_palimpsest_c0" AS INT) AS "_palimpsest_c0",
    CAST("q"."_palimpsest_c1" AS INT) AS "_palimpsest_c1",
    CAST("q"."_palimpsest_c2" AS TEXT) AS "_palimpsest_c2"
  FROM (
    SELECT "k" + 10, "n", 'new'
    FROM (
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
            AND (
              NOT "c"."subsequent_version_number" IS NULL
              OR "c"."subsequent_version_number" = "c"."version_number"
            )
            AND "c"."subsequent_version_number" > "c"."version_number"
        )
    ) AS "u"
  ) AS "q"("_palimpsest_c0", "_palimpsest_c1", "_palimpsest_c2")
) AS "r";
-- 2. check: PAL-302 (23502) if it returns a row: null in column ".." of main.t, which is NOT NULL
SELECT CASE WHEN "s"."_palimpsest_n0" IS NULL THEN 'k' END AS "found"
FROM "p_changed" AS "s"
WHERE "s"."_palimpsest_n0" IS NULL
LIMIT 1;
-- 3. check: PAL-301 (23505) if it returns a row: duplicate key (k) = (..) violates "t_pkey" of main.t
SELECT "shown"
FROM (
  SELECT CONCAT_WS(', ', CAST("s"."_palimpsest_n0" AS TEXT)) AS "shown"
  FROM "p_changed" AS "s"
  WHERE NOT "s"."_palimpsest_n0" IS NULL
  GROUP BY "s"."_palimpsest_n0"
  HAVING COUNT(*) > 1
  UNION ALL
  SELECT CONCAT_WS(', ', CAST("s"."_palimpsest_n0" AS TEXT)) AS "shown"
  FROM "p_changed" AS "s"
  JOIN (
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
  ) AS "c" ON "c"."k" = "s"."_palimpsest_n0"
  WHERE NOT "s"."_palimpsest_n0" IS NULL
) AS "g"
LIMIT 1;
-- 4. append to main.t_journal
SELECT
  "s"."_palimpsest_n0" AS "k",
  "s"."_palimpsest_n1" AS "a",
  "s"."_palimpsest_n2" AS "b",
  CAST((
    CAST('1970-01-01 00:00:00+00' AS TIMESTAMPTZ) + ($1) * INTERVAL '1 MICROSECOND'
  ) AS TIMESTAMPTZ) AS "version_number",
  CAST(NULL AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM "p_changed" AS "s";
-- plan: hive
-- 1. keep as "p_changed"
SELECT
  `r`.`_palimpsest_c0` AS `_palimpsest_n0`,
  `r`.`_palimpsest_c1` AS `_palimpsest_n1`,
  `r`.`_palimpsest_c2` AS `_palimpsest_n2`
FROM (
  SELECT
    CAST(`q`.`_palimpsest_c0` AS INT) AS `_palimpsest_c0`,
    CAST(`q`.`_palimpsest_c1` AS INT) AS `_palimpsest_c1`,
    CAST(`q`.`_palimpsest_c2` AS STRING) AS `_palimpsest_c2`
  FROM (
    SELECT `k` + 10, `n`, 'new'
    FROM (
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
    ) AS `u`
  ) AS `q`(`_palimpsest_c0`, `_palimpsest_c1`, `_palimpsest_c2`)
) AS `r`;
-- 2. check: PAL-302 (23502) if it returns a row: null in column ".." of main.t, which is NOT NULL
SELECT CASE WHEN `s`.`_palimpsest_n0` IS NULL THEN 'k' END AS `found`
FROM `p_changed` AS `s`
WHERE `s`.`_palimpsest_n0` IS NULL
LIMIT 1;
-- 3. check: PAL-301 (23505) if it returns a row: duplicate key (k) = (..) violates "t_pkey" of main.t
SELECT `shown`
FROM (
  SELECT CONCAT_WS(', ', CAST(`s`.`_palimpsest_n0` AS STRING)) AS `shown`
  FROM `p_changed` AS `s`
  WHERE NOT `s`.`_palimpsest_n0` IS NULL
  GROUP BY `s`.`_palimpsest_n0`
  HAVING COUNT(*) > 1
  UNION ALL
  SELECT CONCAT_WS(', ', CAST(`s`.`_palimpsest_n0` AS STRING)) AS `shown`
  FROM `p_changed` AS `s`
  JOIN (
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
  ) AS `c` ON `c`.`k` = `s`.`_palimpsest_n0`
  WHERE NOT `s`.`_palimpsest_n0` IS NULL
) AS `g`
LIMIT 1;
-- 4. append to main.t_journal
SELECT
  `s`.`_palimpsest_n0` AS `k`,
  `s`.`_palimpsest_n1` AS `a`,
  `s`.`_palimpsest_n2` AS `b`,
  CAST(TIMESTAMP_MICROS(:p_version) AS TIMESTAMP) AS `version_number`,
  CAST(NULL AS TIMESTAMP) AS `subsequent_version_number`
FROM `p_changed` AS `s`;
