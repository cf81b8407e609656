-- One staged relation with the action of each row, then guards and appends.
-- stores: embedded, postgresql, hive
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR);
INSERT INTO main.t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, 30, 'x'), (4, NULL, 'z');
UPDATE main.t SET a = 31 WHERE k = 3;
DELETE FROM main.t WHERE k = 4;
CREATE TABLE main.s (k INTEGER, v INTEGER, gone BOOLEAN);
INSERT INTO main.s VALUES (1, 100, false), (2, 200, true), (8, 800, false);
-- statement
MERGE INTO main.t AS t USING main.s AS s ON t.k = s.k
WHEN MATCHED THEN UPDATE SET a = s.v WHEN NOT MATCHED THEN INSERT VALUES (s.k, s.v, 'new');
-- plan: embedded
-- 1. keep as "p_merged"
SELECT *
FROM (
  SELECT
    CASE
      WHEN NOT t."_palimpsest_version" IS NULL AND NOT s."_palimpsest_source" IS NULL
      THEN 1
      WHEN t."_palimpsest_version" IS NULL
      THEN 2
    END AS _palimpsest_clause,
    t."k" AS _palimpsest_o0,
    t."a" AS _palimpsest_o1,
    t."b" AS _palimpsest_o2,
    t."_palimpsest_version" AS _palimpsest_ov,
    CASE WHEN "_palimpsest_clause" = 2 THEN CAST(s.k AS INT) ELSE t."k" END AS _palimpsest_n0,
    CASE
      WHEN "_palimpsest_clause" = 1
      THEN CAST(s.v AS INT)
      WHEN "_palimpsest_clause" = 2
      THEN CAST(s.v AS INT)
      ELSE t."a"
    END AS _palimpsest_n1,
    CASE WHEN "_palimpsest_clause" = 2 THEN CAST('new' AS TEXT) ELSE t."b" END AS _palimpsest_n2,
    "_palimpsest_clause" IN (1) AS _palimpsest_ends,
    "_palimpsest_clause" IN (1, 2) AS _palimpsest_begins,
    CASE WHEN "_palimpsest_clause" = 1 THEN 'UPDATE' WHEN "_palimpsest_clause" = 2 THEN 'INSERT'
    END AS _palimpsest_action
  FROM (
    SELECT *, TRUE AS _palimpsest_source
    FROM (
      SELECT o."k", o."v", o."gone"
      FROM (
        SELECT "k", "v", "gone", "_row_id", "version_number", "subsequent_version_number"
        FROM _palimpsest.t2_base
        UNION ALL
        SELECT "k", "v", "gone", "_row_id", "version_number", "subsequent_version_number"
        FROM _palimpsest.t2_delta
        WHERE "subsequent_version_number" IS NULL
        UNION ALL
        SELECT "k", "v", "gone", "_row_id", "version_number", "subsequent_version_number"
        FROM _palimpsest.t2_head
        WHERE "subsequent_version_number" IS NULL
      ) AS o
      ANTI JOIN (
        SELECT "k", "v", "gone", "_row_id", "version_number", "subsequent_version_number"
        FROM _palimpsest.t2_delta
        UNION ALL
        SELECT "k", "v", "gone", "_row_id", "version_number", "subsequent_version_number"
        FROM _palimpsest.t2_head
      ) AS c
        ON (c."_row_id" = o."_row_id" AND c."version_number" = o."version_number")
        AND c."subsequent_version_number" > c."version_number"
    ) AS s
  ) AS "s"
  LEFT JOIN (
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
  ) AS "t" ON t.k = s.k
) AS m
WHERE m."_palimpsest_clause" IN (1, 2);
-- 2. check: PAL-304 (21000) if it returns a row: the row with (k) = (..) matches more than one row of the source
SELECT CONCAT_WS(', ', CAST(s."_palimpsest_o0" AS TEXT))
FROM p_merged AS s
WHERE s."_palimpsest_ends"
GROUP BY s."_palimpsest_o0", s."_palimpsest_ov"
HAVING COUNT(*) > 1
LIMIT 1;
-- 3. check: PAL-302 (23502) if it returns a row: null in column ".." of main.t, which is NOT NULL
SELECT CASE WHEN s."_palimpsest_n0" IS NULL THEN 'k' END AS found
FROM p_merged AS s
WHERE s."_palimpsest_begins" AND s."_palimpsest_n0" IS NULL
LIMIT 1;
-- 4. check: PAL-301 (23505) if it returns a row: duplicate key (k) = (..) violates "t_pkey" of main.t
SELECT shown
FROM (
  SELECT CONCAT_WS(', ', CAST(s."_palimpsest_n0" AS TEXT)) AS shown
  FROM p_merged AS s
  WHERE s."_palimpsest_begins" AND NOT s."_palimpsest_n0" IS NULL
  GROUP BY s."_palimpsest_n0"
  HAVING COUNT(*) > 1
  UNION ALL
  SELECT CONCAT_WS(', ', CAST(s."_palimpsest_n0" AS TEXT)) AS shown
  FROM p_merged AS s
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
    AND NOT EXISTS(SELECT 1 FROM p_merged AS e WHERE e."_palimpsest_ends" AND e."_palimpsest_o0" = c."k")
) AS g
LIMIT 1;
-- 5. append to main.t_journal
SELECT
  s."_palimpsest_o0" AS "k",
  s."_palimpsest_o1" AS "a",
  s."_palimpsest_o2" AS "b",
  s."_palimpsest_ov" AS "version_number",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_merged AS s
WHERE s."_palimpsest_ends"
UNION ALL
SELECT
  s."_palimpsest_o0" AS "k",
  s."_palimpsest_o1" AS "a",
  s."_palimpsest_o2" AS "b",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "version_number",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_merged AS s
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
FROM p_merged AS s
WHERE s."_palimpsest_begins";
-- 6. row count
SELECT COUNT(*)
FROM p_merged;
-- plan: postgresql
-- 1. keep as "p_merged"
SELECT *
FROM (
  SELECT
    CASE
      WHEN NOT "t"."_palimpsest_version" IS NULL AND NOT "s"."_palimpsest_source" IS NULL
      THEN 1
      WHEN "t"."_palimpsest_version" IS NULL
      THEN 2
    END AS "_palimpsest_clause",
    "t"."k" AS "_palimpsest_o0",
    "t"."a" AS "_palimpsest_o1",
    "t"."b" AS "_palimpsest_o2",
    "t"."_palimpsest_version" AS "_palimpsest_ov",
    CASE
      WHEN (
        CASE
          WHEN NOT "t"."_palimpsest_version" IS NULL AND NOT "s"."_palimpsest_source" IS NULL
          THEN 1
          WHEN "t"."_palimpsest_version" IS NULL
          THEN 2
        END
      ) = 2
      THEN CAST("s"."k" AS INT)
      ELSE "t"."k"
    END AS "_palimpsest_n0",
    CASE
      WHEN (
        CASE
          WHEN NOT "t"."_palimpsest_version" IS NULL AND NOT "s"."_palimpsest_source" IS NULL
          THEN 1
          WHEN "t"."_palimpsest_version" IS NULL
          THEN 2
        END
      ) = 1
      THEN CAST("s"."v" AS INT)
      WHEN (
        CASE
          WHEN NOT "t"."_palimpsest_version" IS NULL AND NOT "s"."_palimpsest_source" IS NULL
          THEN 1
          WHEN "t"."_palimpsest_version" IS NULL
          THEN 2
        END
      ) = 2
      THEN CAST("s"."v" AS INT)
      ELSE "t"."a"
    END AS "_palimpsest_n1",
    CASE
      WHEN (
        CASE
          WHEN NOT "t"."_palimpsest_version" IS NULL AND NOT "s"."_palimpsest_source" IS NULL
          THEN 1
          WHEN "t"."_palimpsest_version" IS NULL
          THEN 2
        END
      ) = 2
      THEN CAST('new' AS TEXT)
      ELSE "t"."b"
    END AS "_palimpsest_n2",
    (
      CASE
        WHEN NOT "t"."_palimpsest_version" IS NULL AND NOT "s"."_palimpsest_source" IS NULL
        THEN 1
        WHEN "t"."_palimpsest_version" IS NULL
        THEN 2
      END
    ) IN (1) AS "_palimpsest_ends",
    (
      CASE
        WHEN NOT "t"."_palimpsest_version" IS NULL AND NOT "s"."_palimpsest_source" IS NULL
        THEN 1
        WHEN "t"."_palimpsest_version" IS NULL
        THEN 2
      END
    ) IN (1, 2) AS "_palimpsest_begins",
    CASE
      WHEN (
        CASE
          WHEN NOT "t"."_palimpsest_version" IS NULL AND NOT "s"."_palimpsest_source" IS NULL
          THEN 1
          WHEN "t"."_palimpsest_version" IS NULL
          THEN 2
        END
      ) = 1
      THEN 'UPDATE'
      WHEN (
        CASE
          WHEN NOT "t"."_palimpsest_version" IS NULL AND NOT "s"."_palimpsest_source" IS NULL
          THEN 1
          WHEN "t"."_palimpsest_version" IS NULL
          THEN 2
        END
      ) = 2
      THEN 'INSERT'
    END AS "_palimpsest_action"
  FROM (
    SELECT *, TRUE AS "_palimpsest_source"
    FROM (
      SELECT "o"."k", "o"."v", "o"."gone"
      FROM (
        SELECT "k", "v", "gone", "_row_id", "version_number", "subsequent_version_number"
        FROM "_palimpsest"."t2_base"
        UNION ALL
        SELECT "k", "v", "gone", "_row_id", "version_number", "subsequent_version_number"
        FROM "_palimpsest"."t2_delta"
        UNION ALL
        SELECT "k", "v", "gone", "_row_id", "version_number", "subsequent_version_number"
        FROM "_palimpsest"."t2_head"
      ) AS "o"
      WHERE
        "o"."subsequent_version_number" IS NULL
        AND NOT EXISTS(
          SELECT 1
          FROM (
            SELECT "k", "v", "gone", "_row_id", "version_number", "subsequent_version_number"
            FROM "_palimpsest"."t2_delta"
            UNION ALL
            SELECT "k", "v", "gone", "_row_id", "version_number", "subsequent_version_number"
            FROM "_palimpsest"."t2_head"
          ) AS "c"
          WHERE
            ("c"."_row_id" = "o"."_row_id" AND "c"."version_number" = "o"."version_number")
            AND (
              NOT "c"."subsequent_version_number" IS NULL
              OR "c"."subsequent_version_number" = "c"."version_number"
            )
            AND "c"."subsequent_version_number" > "c"."version_number"
        )
    ) AS "s"
  ) AS "s"
  LEFT JOIN (
    SELECT "o"."k", "o"."a", "o"."b", "o"."version_number" AS "_palimpsest_version"
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
  ) AS "t" ON "t"."k" = "s"."k"
) AS "m"
WHERE "m"."_palimpsest_clause" IN (1, 2);
-- 2. check: PAL-304 (21000) if it returns a row: the row with (k) = (..) matches more than one row of the source
SELECT CONCAT_WS(', ', CAST("s"."_palimpsest_o0" AS TEXT))
FROM "p_merged" AS "s"
WHERE "s"."_palimpsest_ends"
GROUP BY "s"."_palimpsest_o0", "s"."_palimpsest_ov"
HAVING COUNT(*) > 1
LIMIT 1;
-- 3. check: PAL-302 (23502) if it returns a row: null in column ".." of main.t, which is NOT NULL
SELECT CASE WHEN "s"."_palimpsest_n0" IS NULL THEN 'k' END AS "found"
FROM "p_merged" AS "s"
WHERE "s"."_palimpsest_begins" AND "s"."_palimpsest_n0" IS NULL
LIMIT 1;
-- 4. check: PAL-301 (23505) if it returns a row: duplicate key (k) = (..) violates "t_pkey" of main.t
SELECT "shown"
FROM (
  SELECT CONCAT_WS(', ', CAST("s"."_palimpsest_n0" AS TEXT)) AS "shown"
  FROM "p_merged" AS "s"
  WHERE "s"."_palimpsest_begins" AND NOT "s"."_palimpsest_n0" IS NULL
  GROUP BY "s"."_palimpsest_n0"
  HAVING COUNT(*) > 1
  UNION ALL
  SELECT CONCAT_WS(', ', CAST("s"."_palimpsest_n0" AS TEXT)) AS "shown"
  FROM "p_merged" AS "s"
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
  WHERE
    ("s"."_palimpsest_begins" AND NOT "s"."_palimpsest_n0" IS NULL)
    AND NOT EXISTS(SELECT 1 FROM "p_merged" AS "e" WHERE "e"."_palimpsest_ends" AND "e"."_palimpsest_o0" = "c"."k")
) AS "g"
LIMIT 1;
-- 5. append to main.t_journal
SELECT
  "s"."_palimpsest_o0" AS "k",
  "s"."_palimpsest_o1" AS "a",
  "s"."_palimpsest_o2" AS "b",
  "s"."_palimpsest_ov" AS "version_number",
  CAST((
    CAST('1970-01-01 00:00:00+00' AS TIMESTAMPTZ) + ($1) * INTERVAL '1 MICROSECOND'
  ) AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM "p_merged" AS "s"
WHERE "s"."_palimpsest_ends"
UNION ALL
SELECT
  "s"."_palimpsest_o0" AS "k",
  "s"."_palimpsest_o1" AS "a",
  "s"."_palimpsest_o2" AS "b",
  CAST((
    CAST('1970-01-01 00:00:00+00' AS TIMESTAMPTZ) + ($1) * INTERVAL '1 MICROSECOND'
  ) AS TIMESTAMPTZ) AS "version_number",
  CAST((
    CAST('1970-01-01 00:00:00+00' AS TIMESTAMPTZ) + ($1) * INTERVAL '1 MICROSECOND'
  ) AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM "p_merged" AS "s"
WHERE
  "s"."_palimpsest_ends"
  AND (NOT "s"."_palimpsest_begins" OR ("s"."_palimpsest_o0" IS DISTINCT FROM "s"."_palimpsest_n0"))
UNION ALL
SELECT
  "s"."_palimpsest_n0" AS "k",
  "s"."_palimpsest_n1" AS "a",
  "s"."_palimpsest_n2" AS "b",
  CAST((
    CAST('1970-01-01 00:00:00+00' AS TIMESTAMPTZ) + ($1) * INTERVAL '1 MICROSECOND'
  ) AS TIMESTAMPTZ) AS "version_number",
  CAST(NULL AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM "p_merged" AS "s"
WHERE "s"."_palimpsest_begins";
-- 6. row count
SELECT COUNT(*)
FROM "p_merged";
-- plan: hive
-- 1. keep as "p_merged"
SELECT *
FROM (
  SELECT
    CASE
      WHEN NOT `t`.`_palimpsest_version` IS NULL AND NOT `s`.`_palimpsest_source` IS NULL
      THEN 1
      WHEN `t`.`_palimpsest_version` IS NULL
      THEN 2
    END AS `_palimpsest_clause`,
    `t`.`k` AS `_palimpsest_o0`,
    `t`.`a` AS `_palimpsest_o1`,
    `t`.`b` AS `_palimpsest_o2`,
    `t`.`_palimpsest_version` AS `_palimpsest_ov`,
    CASE
      WHEN (
        CASE
          WHEN NOT `t`.`_palimpsest_version` IS NULL AND NOT `s`.`_palimpsest_source` IS NULL
          THEN 1
          WHEN `t`.`_palimpsest_version` IS NULL
          THEN 2
        END
      ) = 2
      THEN CAST(`s`.`k` AS INT)
      ELSE `t`.`k`
    END AS `_palimpsest_n0`,
    CASE
      WHEN (
        CASE
          WHEN NOT `t`.`_palimpsest_version` IS NULL AND NOT `s`.`_palimpsest_source` IS NULL
          THEN 1
          WHEN `t`.`_palimpsest_version` IS NULL
          THEN 2
        END
      ) = 1
      THEN CAST(`s`.`v` AS INT)
      WHEN (
        CASE
          WHEN NOT `t`.`_palimpsest_version` IS NULL AND NOT `s`.`_palimpsest_source` IS NULL
          THEN 1
          WHEN `t`.`_palimpsest_version` IS NULL
          THEN 2
        END
      ) = 2
      THEN CAST(`s`.`v` AS INT)
      ELSE `t`.`a`
    END AS `_palimpsest_n1`,
    CASE
      WHEN (
        CASE
          WHEN NOT `t`.`_palimpsest_version` IS NULL AND NOT `s`.`_palimpsest_source` IS NULL
          THEN 1
          WHEN `t`.`_palimpsest_version` IS NULL
          THEN 2
        END
      ) = 2
      THEN CAST('new' AS STRING)
      ELSE `t`.`b`
    END AS `_palimpsest_n2`,
    (
      CASE
        WHEN NOT `t`.`_palimpsest_version` IS NULL AND NOT `s`.`_palimpsest_source` IS NULL
        THEN 1
        WHEN `t`.`_palimpsest_version` IS NULL
        THEN 2
      END
    ) IN (1) AS `_palimpsest_ends`,
    (
      CASE
        WHEN NOT `t`.`_palimpsest_version` IS NULL AND NOT `s`.`_palimpsest_source` IS NULL
        THEN 1
        WHEN `t`.`_palimpsest_version` IS NULL
        THEN 2
      END
    ) IN (1, 2) AS `_palimpsest_begins`,
    CASE
      WHEN (
        CASE
          WHEN NOT `t`.`_palimpsest_version` IS NULL AND NOT `s`.`_palimpsest_source` IS NULL
          THEN 1
          WHEN `t`.`_palimpsest_version` IS NULL
          THEN 2
        END
      ) = 1
      THEN 'UPDATE'
      WHEN (
        CASE
          WHEN NOT `t`.`_palimpsest_version` IS NULL AND NOT `s`.`_palimpsest_source` IS NULL
          THEN 1
          WHEN `t`.`_palimpsest_version` IS NULL
          THEN 2
        END
      ) = 2
      THEN 'INSERT'
    END AS `_palimpsest_action`
  FROM (
    SELECT *, TRUE AS `_palimpsest_source`
    FROM (
      SELECT `o`.`k`, `o`.`v`, `o`.`gone`
      FROM (
        SELECT `k`, `v`, `gone`, `_row_id`, `version_number`, `subsequent_version_number`
        FROM `_palimpsest`.`t2_base`
        UNION ALL
        SELECT `k`, `v`, `gone`, `_row_id`, `version_number`, `subsequent_version_number`
        FROM `_palimpsest`.`t2_delta`
        WHERE `subsequent_version_number` IS NULL
        UNION ALL
        SELECT `k`, `v`, `gone`, `_row_id`, `version_number`, `subsequent_version_number`
        FROM `_palimpsest`.`t2_head`
        WHERE `subsequent_version_number` IS NULL
      ) AS `o`
      ANTI JOIN (
        SELECT `k`, `v`, `gone`, `_row_id`, `version_number`, `subsequent_version_number`
        FROM `_palimpsest`.`t2_delta`
        UNION ALL
        SELECT `k`, `v`, `gone`, `_row_id`, `version_number`, `subsequent_version_number`
        FROM `_palimpsest`.`t2_head`
      ) AS `c`
        ON (`c`.`_row_id` = `o`.`_row_id` AND `c`.`version_number` = `o`.`version_number`)
        AND `c`.`subsequent_version_number` > `c`.`version_number`
    ) AS `s`
  ) AS `s`
  LEFT JOIN (
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
  ) AS `t` ON `t`.`k` = `s`.`k`
) AS `m`
WHERE `m`.`_palimpsest_clause` IN (1, 2);
-- 2. check: PAL-304 (21000) if it returns a row: the row with (k) = (..) matches more than one row of the source
SELECT CONCAT_WS(', ', CAST(`s`.`_palimpsest_o0` AS STRING))
FROM `p_merged` AS `s`
WHERE `s`.`_palimpsest_ends`
GROUP BY `s`.`_palimpsest_o0`, `s`.`_palimpsest_ov`
HAVING COUNT(*) > 1
LIMIT 1;
-- 3. check: PAL-302 (23502) if it returns a row: null in column ".." of main.t, which is NOT NULL
SELECT CASE WHEN `s`.`_palimpsest_n0` IS NULL THEN 'k' END AS `found`
FROM `p_merged` AS `s`
WHERE `s`.`_palimpsest_begins` AND `s`.`_palimpsest_n0` IS NULL
LIMIT 1;
-- 4. check: PAL-301 (23505) if it returns a row: duplicate key (k) = (..) violates "t_pkey" of main.t
SELECT `shown`
FROM (
  SELECT CONCAT_WS(', ', CAST(`s`.`_palimpsest_n0` AS STRING)) AS `shown`
  FROM `p_merged` AS `s`
  WHERE `s`.`_palimpsest_begins` AND NOT `s`.`_palimpsest_n0` IS NULL
  GROUP BY `s`.`_palimpsest_n0`
  HAVING COUNT(*) > 1
  UNION ALL
  SELECT CONCAT_WS(', ', CAST(`s`.`_palimpsest_n0` AS STRING)) AS `shown`
  FROM `p_merged` AS `s`
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
    AND NOT EXISTS(SELECT 1 FROM `p_merged` AS `e` WHERE `e`.`_palimpsest_ends` AND `e`.`_palimpsest_o0` = `c`.`k`)
) AS `g`
LIMIT 1;
-- 5. append to main.t_journal
SELECT
  `s`.`_palimpsest_o0` AS `k`,
  `s`.`_palimpsest_o1` AS `a`,
  `s`.`_palimpsest_o2` AS `b`,
  `s`.`_palimpsest_ov` AS `version_number`,
  CAST(TIMESTAMP_MICROS(:p_version) AS TIMESTAMP) AS `subsequent_version_number`
FROM `p_merged` AS `s`
WHERE `s`.`_palimpsest_ends`
UNION ALL
SELECT
  `s`.`_palimpsest_o0` AS `k`,
  `s`.`_palimpsest_o1` AS `a`,
  `s`.`_palimpsest_o2` AS `b`,
  CAST(TIMESTAMP_MICROS(:p_version) AS TIMESTAMP) AS `version_number`,
  CAST(TIMESTAMP_MICROS(:p_version) AS TIMESTAMP) AS `subsequent_version_number`
FROM `p_merged` AS `s`
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
FROM `p_merged` AS `s`
WHERE `s`.`_palimpsest_begins`;
-- 6. row count
SELECT COUNT(*)
FROM `p_merged`;
