-- A key that is computed of what the statement gives is looked up.
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER);
INSERT INTO main.t VALUES (1, 10);
-- statement
INSERT INTO main.t VALUES (2 * 3 + 4, 5);
-- plan: embedded, optimistic
-- 1. append to main.t_journal
WITH p_changed AS MATERIALIZED (
  SELECT r."_palimpsest_c0" AS _palimpsest_n0, r."_palimpsest_c1" AS _palimpsest_n1
  FROM (SELECT CAST(2 * 3 + 4 AS INT) AS _palimpsest_c0, CAST(5 AS INT) AS _palimpsest_c1) AS r
)
SELECT
  s."_palimpsest_n0" AS "k",
  s."_palimpsest_n1" AS "a",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "version_number",
  CAST(NULL AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed AS s
WHERE
  CASE
    WHEN s."_palimpsest_n0" IS NULL
    THEN ERROR('_palimpsest refuses a row (0) [k] _palimpsest')
    WHEN EXISTS(
      SELECT 1 AS "taken"
      FROM (
        SELECT *
        FROM (
          SELECT "version_number", "subsequent_version_number"
          FROM _palimpsest.t1_base
          WHERE "k" = CAST(2 * 3 + 4 AS INT)
          UNION ALL
          SELECT "version_number", "subsequent_version_number"
          FROM _palimpsest.t1_delta
          WHERE "k" = CAST(2 * 3 + 4 AS INT)
          UNION ALL
          SELECT "version_number", "subsequent_version_number"
          FROM _palimpsest.t1_head
          WHERE "k" = CAST(2 * 3 + 4 AS INT)
        ) AS u
        ORDER BY COALESCE("subsequent_version_number", "version_number") DESC, "subsequent_version_number" NULLS FIRST
        LIMIT 1
      ) AS o
      WHERE o."subsequent_version_number" IS NULL
    )
    THEN ERROR(CONCAT('_palimpsest refuses a row (1) [', CAST(s."_palimpsest_n0" AS TEXT), '] _palimpsest'))
    ELSE TRUE
  END;
-- plan: embedded, after a failure
-- 1. keep as "p_changed"
SELECT r."_palimpsest_c0" AS _palimpsest_n0, r."_palimpsest_c1" AS _palimpsest_n1
FROM (SELECT * FROM (VALUES (CAST(2 * 3 + 4 AS INT), CAST(5 AS INT))) AS v(_palimpsest_c0, _palimpsest_c1)) AS r;
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
    SELECT o."k", o."a", o."version_number"
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
  ) AS c ON c."k" = s."_palimpsest_n0"
  WHERE NOT s."_palimpsest_n0" IS NULL
) AS g
LIMIT 1;
-- 4. append to main.t_journal
SELECT
  s."_palimpsest_n0" AS "k",
  s."_palimpsest_n1" AS "a",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "version_number",
  CAST(NULL AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed AS s;
