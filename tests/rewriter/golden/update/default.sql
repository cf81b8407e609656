-- DEFAULT as a value.
-- setup
CREATE TABLE main.t (
  k INTEGER PRIMARY KEY, a INTEGER NOT NULL CHECK (a > 0), b VARCHAR DEFAULT 'none', c INTEGER UNIQUE
);
INSERT INTO main.t VALUES (1, 10, 'x', 100), (2, 20, 'y', 200), (3, 30, 'x', NULL);
-- statement
UPDATE main.t SET b = DEFAULT WHERE k = 1;
-- plan: embedded
-- 1. append to main.t_journal
WITH p_changed AS MATERIALIZED (
  SELECT
    t."k" AS _palimpsest_o0,
    t."a" AS _palimpsest_o1,
    t."b" AS _palimpsest_o2,
    t."c" AS _palimpsest_o3,
    t."_palimpsest_version" AS _palimpsest_ov,
    CAST('none' AS TEXT) AS _palimpsest_n2
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
  s."_palimpsest_o1" AS "a",
  s."_palimpsest_n2" AS "b",
  s."_palimpsest_o3" AS "c",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "version_number",
  CAST(NULL AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed AS s;
