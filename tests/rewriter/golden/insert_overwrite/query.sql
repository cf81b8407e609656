-- Every present row ends and every new row begins in one version.
-- stores: embedded, hive
-- client: spark
-- run: no: DuckDB has no INSERT OVERWRITE
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR);
INSERT INTO main.t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, 30, 'x'), (4, NULL, 'z');
UPDATE main.t SET a = 31 WHERE k = 3;
DELETE FROM main.t WHERE k = 4;
-- statement
INSERT OVERWRITE TABLE main.t SELECT k + 1, a, b FROM main.t WHERE k < 3;
-- plan: embedded
-- 1. keep as "p_source_rows"
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
    SELECT k + 1, a, b
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
    WHERE k < 3
  ) AS q(_palimpsest_c0, _palimpsest_c1, _palimpsest_c2)
) AS r;
-- 2. keep as "p_changed"
SELECT
  t."k" AS _palimpsest_o0,
  t."a" AS _palimpsest_o1,
  t."b" AS _palimpsest_o2,
  t."_palimpsest_version" AS _palimpsest_ov,
  NULL AS _palimpsest_n0,
  NULL AS _palimpsest_n1,
  NULL AS _palimpsest_n2,
  TRUE AS _palimpsest_ends,
  FALSE AS _palimpsest_begins
FROM (
  SELECT o."k", o."a", o."b", o."version_number" AS "_palimpsest_version"
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
UNION ALL
SELECT
  NULL AS _palimpsest_o0,
  NULL AS _palimpsest_o1,
  NULL AS _palimpsest_o2,
  NULL AS _palimpsest_ov,
  _palimpsest_n0,
  _palimpsest_n1,
  _palimpsest_n2,
  FALSE AS _palimpsest_ends,
  TRUE AS _palimpsest_begins
FROM p_source_rows AS p_source_rows;
-- 3. check: PAL-302 (23502) if it returns a row: null in column ".." of main.t, which is NOT NULL
SELECT CASE WHEN s."_palimpsest_n0" IS NULL THEN 'k' END AS found
FROM p_changed AS s
WHERE s."_palimpsest_begins" AND s."_palimpsest_n0" IS NULL
LIMIT 1;
-- 4. check: PAL-301 (23505) if it returns a row: duplicate key (k) = (..) violates "t_pkey" of main.t
SELECT shown
FROM (
  SELECT CONCAT_WS(', ', CAST(s."_palimpsest_n0" AS TEXT)) AS shown
  FROM p_changed AS s
  WHERE s."_palimpsest_begins" AND NOT s."_palimpsest_n0" IS NULL
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
  WHERE
    (s."_palimpsest_begins" AND NOT s."_palimpsest_n0" IS NULL)
    AND NOT EXISTS(SELECT 1 FROM p_changed AS e WHERE e."_palimpsest_ends" AND e."_palimpsest_o0" = c."k")
) AS g
LIMIT 1;
-- 5. append to main.t_journal
SELECT
  s."_palimpsest_o0" AS "k",
  s."_palimpsest_o1" AS "a",
  s."_palimpsest_o2" AS "b",
  s."_palimpsest_ov" AS "version_number",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed AS s
WHERE s."_palimpsest_ends"
UNION ALL
SELECT
  s."_palimpsest_o0" AS "k",
  s."_palimpsest_o1" AS "a",
  s."_palimpsest_o2" AS "b",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "version_number",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed AS s
WHERE
  s."_palimpsest_ends"
  AND (NOT s."_palimpsest_begins" OR (s."_palimpsest_o0" IS DISTINCT FROM s."_palimpsest_n0"))
UNION ALL
SELECT
  s."_palimpsest_n0" AS "k",
  s."_palimpsest_n1" AS "a",
  s."_palimpsest_n2" AS "b",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "version_number",
  CAST(NULL AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed AS s
WHERE s."_palimpsest_begins";
-- 6. row count
SELECT COUNT(*)
FROM p_changed
WHERE _palimpsest_begins;
-- plan: hive
-- 1. keep as "p_source_rows"
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
    SELECT `k` + 1, `a`, `b`
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
    WHERE `k` < 3
  ) AS `q`(`_palimpsest_c0`, `_palimpsest_c1`, `_palimpsest_c2`)
) AS `r`;
-- 2. keep as "p_changed"
SELECT
  `t`.`k` AS `_palimpsest_o0`,
  `t`.`a` AS `_palimpsest_o1`,
  `t`.`b` AS `_palimpsest_o2`,
  `t`.`_palimpsest_version` AS `_palimpsest_ov`,
  NULL AS `_palimpsest_n0`,
  NULL AS `_palimpsest_n1`,
  NULL AS `_palimpsest_n2`,
  TRUE AS `_palimpsest_ends`,
  FALSE AS `_palimpsest_begins`
FROM (
  SELECT `o`.`k`, `o`.`a`, `o`.`b`, `o`.`version_number` AS `_palimpsest_version`
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
UNION ALL
SELECT
  NULL AS `_palimpsest_o0`,
  NULL AS `_palimpsest_o1`,
  NULL AS `_palimpsest_o2`,
  NULL AS `_palimpsest_ov`,
  `_palimpsest_n0`,
  `_palimpsest_n1`,
  `_palimpsest_n2`,
  FALSE AS `_palimpsest_ends`,
  TRUE AS `_palimpsest_begins`
FROM `p_source_rows` AS `p_source_rows`;
-- 3. check: PAL-302 (23502) if it returns a row: null in column ".." of main.t, which is NOT NULL
SELECT CASE WHEN `s`.`_palimpsest_n0` IS NULL THEN 'k' END AS `found`
FROM `p_changed` AS `s`
WHERE `s`.`_palimpsest_begins` AND `s`.`_palimpsest_n0` IS NULL
LIMIT 1;
-- 4. check: PAL-301 (23505) if it returns a row: duplicate key (k) = (..) violates "t_pkey" of main.t
SELECT `shown`
FROM (
  SELECT CONCAT_WS(', ', CAST(`s`.`_palimpsest_n0` AS STRING)) AS `shown`
  FROM `p_changed` AS `s`
  WHERE `s`.`_palimpsest_begins` AND NOT `s`.`_palimpsest_n0` IS NULL
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
  WHERE
    (`s`.`_palimpsest_begins` AND NOT `s`.`_palimpsest_n0` IS NULL)
    AND NOT EXISTS(SELECT 1 FROM `p_changed` AS `e` WHERE `e`.`_palimpsest_ends` AND `e`.`_palimpsest_o0` = `c`.`k`)
) AS `g`
LIMIT 1;
-- 5. append to main.t_journal
SELECT
  `s`.`_palimpsest_o0` AS `k`,
  `s`.`_palimpsest_o1` AS `a`,
  `s`.`_palimpsest_o2` AS `b`,
  `s`.`_palimpsest_ov` AS `version_number`,
  CAST(TIMESTAMP_MICROS(:p_version) AS TIMESTAMP) AS `subsequent_version_number`
FROM `p_changed` AS `s`
WHERE `s`.`_palimpsest_ends`
UNION ALL
SELECT
  `s`.`_palimpsest_o0` AS `k`,
  `s`.`_palimpsest_o1` AS `a`,
  `s`.`_palimpsest_o2` AS `b`,
  CAST(TIMESTAMP_MICROS(:p_version) AS TIMESTAMP) AS `version_number`,
  CAST(TIMESTAMP_MICROS(:p_version) AS TIMESTAMP) AS `subsequent_version_number`
FROM `p_changed` AS `s`
WHERE
  `s`.`_palimpsest_ends`
  AND (NOT `s`.`_palimpsest_begins` OR (`s`.`_palimpsest_o0` IS DISTINCT FROM `s`.`_palimpsest_n0`))
UNION ALL
SELECT
  `s`.`_palimpsest_n0` AS `k`,
  `s`.`_palimpsest_n1` AS `a`,
  `s`.`_palimpsest_n2` AS `b`,
  CAST(TIMESTAMP_MICROS(:p_version) AS TIMESTAMP) AS `version_number`,
  CAST(NULL AS TIMESTAMP) AS `subsequent_version_number`
FROM `p_changed` AS `s`
WHERE `s`.`_palimpsest_begins`;
-- 6. row count
SELECT COUNT(*)
FROM `p_changed`
WHERE `_palimpsest_begins`;
