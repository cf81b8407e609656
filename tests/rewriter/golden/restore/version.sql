-- Missing rows come back, changed ones change back, later ones go: as a new version.
-- stores: embedded, hive
-- run: no: a plain table has no past
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR);
CREATE TABLE main.loose (a INTEGER);
INSERT INTO main.t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, 30, NULL);
INSERT INTO main.loose VALUES (1), (1), (2);
-- mark m
UPDATE main.t SET a = a + 1 WHERE k < 3;
DELETE FROM main.t WHERE k = 3;
DELETE FROM main.loose WHERE a = 2;
-- statement
RESTORE TABLE main.t TO VERSION AS OF 1000;
-- plan: embedded
-- 1. keep as "changed"
SELECT
  n."k" AS _palimpsest_o0,
  t."k" AS _palimpsest_n0,
  n."a" AS _palimpsest_o1,
  t."a" AS _palimpsest_n1,
  n."b" AS _palimpsest_o2,
  t."b" AS _palimpsest_n2,
  n."_palimpsest_version" AS _palimpsest_ov,
  NOT n."_palimpsest_version" IS NULL AS is_ended,
  NOT t."_palimpsest_version" IS NULL AS is_begun
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
) AS n
FULL JOIN (
  SELECT o."k", o."a", o."b", o."version_number" AS "_palimpsest_version"
  FROM _palimpsest.t1_base AS o
  ANTI JOIN (
    SELECT "k", "version_number", "subsequent_version_number"
    FROM (
      SELECT "k", "a", "b", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_delta
      UNION ALL
      SELECT "k", "a", "b", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_head
    ) AS x
    WHERE
      "subsequent_version_number" > "version_number"
      AND "subsequent_version_number" <= MAKE_TIMESTAMPTZ($p_time_0)
  ) AS c
    ON (c."k" = o."k" AND c."version_number" = o."version_number")
    AND c."subsequent_version_number" > c."version_number"
  WHERE o."subsequent_version_number" IS NULL AND o."version_number" <= MAKE_TIMESTAMPTZ($p_time_0)
  UNION ALL
  SELECT o."k", o."a", o."b", o."version_number" AS "_palimpsest_version"
  FROM _palimpsest.t1_delta AS o
  ANTI JOIN (
    SELECT "k", "version_number", "subsequent_version_number"
    FROM (
      SELECT "k", "a", "b", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_delta
      UNION ALL
      SELECT "k", "a", "b", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_head
    ) AS x
    WHERE
      "subsequent_version_number" > "version_number"
      AND "subsequent_version_number" <= MAKE_TIMESTAMPTZ($p_time_0)
  ) AS c
    ON (c."k" = o."k" AND c."version_number" = o."version_number")
    AND c."subsequent_version_number" > c."version_number"
  WHERE o."subsequent_version_number" IS NULL AND o."version_number" <= MAKE_TIMESTAMPTZ($p_time_0)
  UNION ALL
  SELECT o."k", o."a", o."b", o."version_number" AS "_palimpsest_version"
  FROM _palimpsest.t1_head AS o
  ANTI JOIN (
    SELECT "k", "version_number", "subsequent_version_number"
    FROM (
      SELECT "k", "a", "b", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_delta
      UNION ALL
      SELECT "k", "a", "b", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_head
    ) AS x
    WHERE
      "subsequent_version_number" > "version_number"
      AND "subsequent_version_number" <= MAKE_TIMESTAMPTZ($p_time_0)
  ) AS c
    ON (c."k" = o."k" AND c."version_number" = o."version_number")
    AND c."subsequent_version_number" > c."version_number"
  WHERE o."subsequent_version_number" IS NULL AND o."version_number" <= MAKE_TIMESTAMPTZ($p_time_0)
) AS t ON n."k" = t."k"
WHERE
  n."_palimpsest_version" IS DISTINCT FROM t."_palimpsest_version"
  AND (
    n."_palimpsest_version" IS NULL
    OR t."_palimpsest_version" IS NULL
    OR n."k" IS DISTINCT FROM t."k"
    OR n."a" IS DISTINCT FROM t."a"
    OR n."b" IS DISTINCT FROM t."b"
  );
-- 2. check: PAL-302 (23502) if it returns a row: null in column ".." of main.t, which is NOT NULL
SELECT CASE WHEN s."_palimpsest_n0" IS NULL THEN 'k' END AS found
FROM changed AS s
WHERE s."is_begun" AND s."_palimpsest_n0" IS NULL
LIMIT 1;
-- 3. check: PAL-301 (23505) if it returns a row: duplicate key (k) = (..) violates "t_pkey" of main.t
SELECT shown
FROM (
  SELECT CONCAT_WS(', ', CAST(s."_palimpsest_n0" AS TEXT)) AS shown
  FROM changed AS s
  WHERE s."is_begun" AND NOT s."_palimpsest_n0" IS NULL
  GROUP BY s."_palimpsest_n0"
  HAVING COUNT(*) > 1
  UNION ALL
  SELECT CONCAT_WS(', ', CAST(s."_palimpsest_n0" AS TEXT)) AS shown
  FROM changed AS s
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
    (s."is_begun" AND NOT s."_palimpsest_n0" IS NULL)
    AND NOT EXISTS(SELECT 1 FROM changed AS e WHERE e."is_ended" AND e."_palimpsest_o0" = c."k")
) AS g
LIMIT 1;
-- 4. append to main.t_journal
SELECT
  s."_palimpsest_o0" AS "k",
  s."_palimpsest_o1" AS "a",
  s."_palimpsest_o2" AS "b",
  s."_palimpsest_ov" AS "version_number",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM changed AS s
WHERE s."is_ended"
UNION ALL
SELECT
  s."_palimpsest_o0" AS "k",
  s."_palimpsest_o1" AS "a",
  s."_palimpsest_o2" AS "b",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "version_number",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM changed AS s
WHERE s."is_ended" AND (NOT s."is_begun" OR (s."_palimpsest_o0" IS DISTINCT FROM s."_palimpsest_n0"))
UNION ALL
SELECT
  s."_palimpsest_n0" AS "k",
  s."_palimpsest_n1" AS "a",
  s."_palimpsest_n2" AS "b",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "version_number",
  CAST(NULL AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM changed AS s
WHERE s."is_begun";
-- 5. row count
SELECT COUNT(*)
FROM changed;
-- plan: hive
-- 1. keep as "changed"
SELECT
  `n`.`k` AS `_palimpsest_o0`,
  `t`.`k` AS `_palimpsest_n0`,
  `n`.`a` AS `_palimpsest_o1`,
  `t`.`a` AS `_palimpsest_n1`,
  `n`.`b` AS `_palimpsest_o2`,
  `t`.`b` AS `_palimpsest_n2`,
  `n`.`_palimpsest_version` AS `_palimpsest_ov`,
  NOT `n`.`_palimpsest_version` IS NULL AS `is_ended`,
  NOT `t`.`_palimpsest_version` IS NULL AS `is_begun`
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
) AS `n`
FULL JOIN (
  SELECT `o`.`k`, `o`.`a`, `o`.`b`, `o`.`version_number` AS `_palimpsest_version`
  FROM `_palimpsest`.`t1_base` AS `o`
  ANTI JOIN (
    SELECT `k`, `version_number`, `subsequent_version_number`
    FROM (
      SELECT `k`, `a`, `b`, `version_number`, `subsequent_version_number`
      FROM `_palimpsest`.`t1_delta`
      UNION ALL
      SELECT `k`, `a`, `b`, `version_number`, `subsequent_version_number`
      FROM `_palimpsest`.`t1_head`
    ) AS `x`
    WHERE
      `subsequent_version_number` > `version_number`
      AND `subsequent_version_number` <= TIMESTAMP_MICROS(:p_time_0)
  ) AS `c`
    ON (`c`.`k` = `o`.`k` AND `c`.`version_number` = `o`.`version_number`)
    AND `c`.`subsequent_version_number` > `c`.`version_number`
  WHERE `o`.`subsequent_version_number` IS NULL AND `o`.`version_number` <= TIMESTAMP_MICROS(:p_time_0)
  UNION ALL
  SELECT `o`.`k`, `o`.`a`, `o`.`b`, `o`.`version_number` AS `_palimpsest_version`
  FROM `_palimpsest`.`t1_delta` AS `o`
  ANTI JOIN (
    SELECT `k`, `version_number`, `subsequent_version_number`
    FROM (
      SELECT `k`, `a`, `b`, `version_number`, `subsequent_version_number`
      FROM `_palimpsest`.`t1_delta`
      UNION ALL
      SELECT `k`, `a`, `b`, `version_number`, `subsequent_version_number`
      FROM `_palimpsest`.`t1_head`
    ) AS `x`
    WHERE
      `subsequent_version_number` > `version_number`
      AND `subsequent_version_number` <= TIMESTAMP_MICROS(:p_time_0)
  ) AS `c`
    ON (`c`.`k` = `o`.`k` AND `c`.`version_number` = `o`.`version_number`)
    AND `c`.`subsequent_version_number` > `c`.`version_number`
  WHERE `o`.`subsequent_version_number` IS NULL AND `o`.`version_number` <= TIMESTAMP_MICROS(:p_time_0)
  UNION ALL
  SELECT `o`.`k`, `o`.`a`, `o`.`b`, `o`.`version_number` AS `_palimpsest_version`
  FROM `_palimpsest`.`t1_head` AS `o`
  ANTI JOIN (
    SELECT `k`, `version_number`, `subsequent_version_number`
    FROM (
      SELECT `k`, `a`, `b`, `version_number`, `subsequent_version_number`
      FROM `_palimpsest`.`t1_delta`
      UNION ALL
      SELECT `k`, `a`, `b`, `version_number`, `subsequent_version_number`
      FROM `_palimpsest`.`t1_head`
    ) AS `x`
    WHERE
      `subsequent_version_number` > `version_number`
      AND `subsequent_version_number` <= TIMESTAMP_MICROS(:p_time_0)
  ) AS `c`
    ON (`c`.`k` = `o`.`k` AND `c`.`version_number` = `o`.`version_number`)
    AND `c`.`subsequent_version_number` > `c`.`version_number`
  WHERE `o`.`subsequent_version_number` IS NULL AND `o`.`version_number` <= TIMESTAMP_MICROS(:p_time_0)
) AS `t` ON `n`.`k` = `t`.`k`
WHERE
  `n`.`_palimpsest_version` IS DISTINCT FROM `t`.`_palimpsest_version`
  AND (
    `n`.`_palimpsest_version` IS NULL
    OR `t`.`_palimpsest_version` IS NULL
    OR `n`.`k` IS DISTINCT FROM `t`.`k`
    OR `n`.`a` IS DISTINCT FROM `t`.`a`
    OR `n`.`b` IS DISTINCT FROM `t`.`b`
  );
-- 2. check: PAL-302 (23502) if it returns a row: null in column ".." of main.t, which is NOT NULL
SELECT CASE WHEN `s`.`_palimpsest_n0` IS NULL THEN 'k' END AS `found`
FROM `changed` AS `s`
WHERE `s`.`is_begun` AND `s`.`_palimpsest_n0` IS NULL
LIMIT 1;
-- 3. check: PAL-301 (23505) if it returns a row: duplicate key (k) = (..) violates "t_pkey" of main.t
SELECT `shown`
FROM (
  SELECT CONCAT_WS(', ', CAST(`s`.`_palimpsest_n0` AS STRING)) AS `shown`
  FROM `changed` AS `s`
  WHERE `s`.`is_begun` AND NOT `s`.`_palimpsest_n0` IS NULL
  GROUP BY `s`.`_palimpsest_n0`
  HAVING COUNT(*) > 1
  UNION ALL
  SELECT CONCAT_WS(', ', CAST(`s`.`_palimpsest_n0` AS STRING)) AS `shown`
  FROM `changed` AS `s`
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
    (`s`.`is_begun` AND NOT `s`.`_palimpsest_n0` IS NULL)
    AND NOT EXISTS(SELECT 1 FROM `changed` AS `e` WHERE `e`.`is_ended` AND `e`.`_palimpsest_o0` = `c`.`k`)
) AS `g`
LIMIT 1;
-- 4. append to main.t_journal
SELECT
  `s`.`_palimpsest_o0` AS `k`,
  `s`.`_palimpsest_o1` AS `a`,
  `s`.`_palimpsest_o2` AS `b`,
  `s`.`_palimpsest_ov` AS `version_number`,
  CAST(TIMESTAMP_MICROS(:p_version) AS TIMESTAMP) AS `subsequent_version_number`
FROM `changed` AS `s`
WHERE `s`.`is_ended`
UNION ALL
SELECT
  `s`.`_palimpsest_o0` AS `k`,
  `s`.`_palimpsest_o1` AS `a`,
  `s`.`_palimpsest_o2` AS `b`,
  CAST(TIMESTAMP_MICROS(:p_version) AS TIMESTAMP) AS `version_number`,
  CAST(TIMESTAMP_MICROS(:p_version) AS TIMESTAMP) AS `subsequent_version_number`
FROM `changed` AS `s`
WHERE `s`.`is_ended` AND (NOT `s`.`is_begun` OR (`s`.`_palimpsest_o0` IS DISTINCT FROM `s`.`_palimpsest_n0`))
UNION ALL
SELECT
  `s`.`_palimpsest_n0` AS `k`,
  `s`.`_palimpsest_n1` AS `a`,
  `s`.`_palimpsest_n2` AS `b`,
  CAST(TIMESTAMP_MICROS(:p_version) AS TIMESTAMP) AS `version_number`,
  CAST(NULL AS TIMESTAMP) AS `subsequent_version_number`
FROM `changed` AS `s`
WHERE `s`.`is_begun`;
-- 5. row count
SELECT COUNT(*)
FROM `changed`;
