-- A NULL in a NOT NULL column.
-- setup
CREATE TABLE main.t (
  k INTEGER PRIMARY KEY, a INTEGER NOT NULL CHECK (a > 0), b VARCHAR DEFAULT 'none', c INTEGER UNIQUE
);
INSERT INTO main.t VALUES (1, 10, 'x', 100), (2, 20, 'y', 200), (3, 30, 'x', NULL);
-- statement
UPDATE main.t SET a = NULL WHERE k = 1;
-- plan: embedded, optimistic
-- 1. append to main.t_journal
WITH p_changed AS MATERIALIZED (
  SELECT
    t."k" AS _palimpsest_o0,
    t."a" AS _palimpsest_o1,
    t."b" AS _palimpsest_o2,
    t."c" AS _palimpsest_o3,
    t."_palimpsest_version" AS _palimpsest_ov,
    CAST(NULL AS INT) AS _palimpsest_n1
  FROM (
    SELECT "k", "a", "b", "c", "version_number" AS "_palimpsest_version"
    FROM (
      SELECT *
      FROM (
        SELECT "k", "a", "b", "c", "version_number", "subsequent_version_number"
        FROM _palimpsest.t1_base
        WHERE "k" = 1
        UNION ALL
        SELECT "k", "a", "b", "c", "version_number", "subsequent_version_number"
        FROM _palimpsest.t1_delta
        WHERE "k" = 1
        UNION ALL
        SELECT "k", "a", "b", "c", "version_number", "subsequent_version_number"
        FROM _palimpsest.t1_head
        WHERE "k" = 1
      ) AS u
      ORDER BY COALESCE("subsequent_version_number", "version_number") DESC, "subsequent_version_number" NULLS FIRST
      LIMIT 1
    ) AS o
    WHERE o."subsequent_version_number" IS NULL
  ) AS "t"
  WHERE k = 1
)
SELECT
  s."_palimpsest_o0" AS "k",
  s."_palimpsest_o1" AS "a",
  s."_palimpsest_o2" AS "b",
  s."_palimpsest_o3" AS "c",
  s."_palimpsest_ov" AS "version_number",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed AS s
UNION ALL
SELECT
  s."_palimpsest_o0" AS "k",
  s."_palimpsest_n1" AS "a",
  s."_palimpsest_o2" AS "b",
  s."_palimpsest_o3" AS "c",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "version_number",
  CAST(NULL AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed AS s
WHERE
  CASE
    WHEN s."_palimpsest_n1" IS NULL
    THEN ERROR('_palimpsest refuses a row (0) [a] _palimpsest')
    WHEN NOT (s."_palimpsest_n1" > 0)
    THEN ERROR('_palimpsest refuses a row (1) [] _palimpsest')
    ELSE TRUE
  END;
-- plan: embedded, after a failure
-- 1. keep as "p_changed"
SELECT
  t."k" AS _palimpsest_o0,
  t."a" AS _palimpsest_o1,
  t."b" AS _palimpsest_o2,
  t."c" AS _palimpsest_o3,
  t."_palimpsest_version" AS _palimpsest_ov,
  CAST(NULL AS INT) AS _palimpsest_n1
FROM (
  SELECT "k", "a", "b", "c", "version_number" AS "_palimpsest_version"
  FROM (
    SELECT *
    FROM (
      SELECT "k", "a", "b", "c", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_base
      WHERE "k" = 1
      UNION ALL
      SELECT "k", "a", "b", "c", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_delta
      WHERE "k" = 1
      UNION ALL
      SELECT "k", "a", "b", "c", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_head
      WHERE "k" = 1
    ) AS u
    ORDER BY COALESCE("subsequent_version_number", "version_number") DESC, "subsequent_version_number" NULLS FIRST
    LIMIT 1
  ) AS o
  WHERE o."subsequent_version_number" IS NULL
) AS "t"
WHERE k = 1;
-- 2. check: PAL-302 (23502) if it returns a row: null in column ".." of main.t, which is NOT NULL
SELECT CASE WHEN s."_palimpsest_n1" IS NULL THEN 'a' END AS found
FROM p_changed AS s
WHERE s."_palimpsest_n1" IS NULL
LIMIT 1;
-- 3. check: PAL-303 (23514) if it returns a row: a row violates check "t_a_check" of main.t: "a" > 0
SELECT 1 AS found
FROM p_changed AS s
WHERE NOT (s."_palimpsest_n1" > 0)
LIMIT 1;
-- 4. append to main.t_journal
SELECT
  s."_palimpsest_o0" AS "k",
  s."_palimpsest_o1" AS "a",
  s."_palimpsest_o2" AS "b",
  s."_palimpsest_o3" AS "c",
  s."_palimpsest_ov" AS "version_number",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed AS s
UNION ALL
SELECT
  s."_palimpsest_o0" AS "k",
  s."_palimpsest_n1" AS "a",
  s."_palimpsest_o2" AS "b",
  s."_palimpsest_o3" AS "c",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "version_number",
  CAST(NULL AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed AS s;
