-- A UNIQUE column that changes is looked up among the rows that stay.
-- stores: embedded, postgresql
-- setup
CREATE TABLE main.t (
  k INTEGER PRIMARY KEY, a INTEGER NOT NULL CHECK (a > 0), b VARCHAR DEFAULT 'none', c INTEGER UNIQUE
);
INSERT INTO main.t VALUES (1, 10, 'x', 100), (2, 20, 'y', 200), (3, 30, 'x', NULL);
-- statement
UPDATE main.t SET c = 200 WHERE k = 3;
-- plan: embedded
-- 1. keep as "p_changed"
SELECT
  t."k" AS _palimpsest_o0,
  t."a" AS _palimpsest_o1,
  t."b" AS _palimpsest_o2,
  t."c" AS _palimpsest_o3,
  t."_palimpsest_version" AS _palimpsest_ov,
  CAST(200 AS INT) AS _palimpsest_n3
FROM (
  SELECT "k", "a", "b", "c", "version_number" AS "_palimpsest_version"
  FROM (
    SELECT *
    FROM (
      SELECT "k", "a", "b", "c", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_base
      WHERE "k" = 3
      UNION ALL
      SELECT "k", "a", "b", "c", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_delta
      WHERE "k" = 3
      UNION ALL
      SELECT "k", "a", "b", "c", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_head
      WHERE "k" = 3
    ) AS u
    ORDER BY COALESCE("subsequent_version_number", "version_number") DESC, "subsequent_version_number" NULLS FIRST
    LIMIT 1
  ) AS o
  WHERE o."subsequent_version_number" IS NULL
) AS "t"
WHERE k = 3;
-- 2. check: PAL-301 (23505) if it returns a row: duplicate key (c) = (..) violates "t_c_key" of main.t
SELECT shown
FROM (
  SELECT CONCAT_WS(', ', CAST(s."_palimpsest_n3" AS TEXT)) AS shown
  FROM p_changed AS s
  WHERE NOT s."_palimpsest_n3" IS NULL
  GROUP BY s."_palimpsest_n3"
  HAVING COUNT(*) > 1
  UNION ALL
  SELECT CONCAT_WS(', ', CAST(s."_palimpsest_n3" AS TEXT)) AS shown
  FROM p_changed AS s
  JOIN (
    SELECT o."k", o."a", o."b", o."c", o."version_number"
    FROM (
      SELECT "k", "a", "b", "c", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_base
      UNION ALL
      SELECT "k", "a", "b", "c", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_delta
      WHERE "subsequent_version_number" IS NULL
      UNION ALL
      SELECT "k", "a", "b", "c", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_head
      WHERE "subsequent_version_number" IS NULL
    ) AS o
    ANTI JOIN (
      SELECT "k", "a", "b", "c", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_delta
      UNION ALL
      SELECT "k", "a", "b", "c", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_head
    ) AS c
      ON (c."k" = o."k" AND c."version_number" = o."version_number")
      AND c."subsequent_version_number" > c."version_number"
  ) AS c ON c."c" = s."_palimpsest_n3"
  WHERE NOT s."_palimpsest_n3" IS NULL AND NOT EXISTS(SELECT 1 FROM p_changed AS e WHERE e."_palimpsest_o0" = c."k")
) AS g
LIMIT 1;
-- 3. append to main.t_journal
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
  s."_palimpsest_o2" AS "b",
  s."_palimpsest_n3" AS "c",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "version_number",
  CAST(NULL AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed AS s;
-- plan: postgresql
-- 1. keep as "p_changed"
SELECT
  "t"."k" AS "_palimpsest_o0",
  "t"."a" AS "_palimpsest_o1",
  "t"."b" AS "_palimpsest_o2",
  "t"."c" AS "_palimpsest_o3",
  "t"."_palimpsest_version" AS "_palimpsest_ov",
  CAST(200 AS INT) AS "_palimpsest_n3"
FROM (
  SELECT "k", "a", "b", "c", "version_number" AS "_palimpsest_version"
  FROM (
    SELECT *
    FROM (
      SELECT "k", "a", "b", "c", "version_number", "subsequent_version_number"
      FROM "_palimpsest"."t1_base"
      WHERE "k" = 3
      UNION ALL
      SELECT "k", "a", "b", "c", "version_number", "subsequent_version_number"
      FROM "_palimpsest"."t1_delta"
      WHERE "k" = 3
      UNION ALL
      SELECT "k", "a", "b", "c", "version_number", "subsequent_version_number"
      FROM "_palimpsest"."t1_head"
      WHERE "k" = 3
    ) AS "u"
    ORDER BY
      COALESCE("subsequent_version_number", "version_number") DESC NULLS LAST,
      "subsequent_version_number" NULLS FIRST
    LIMIT 1
  ) AS "o"
  WHERE "o"."subsequent_version_number" IS NULL
) AS "t"
WHERE "k" = 3;
-- 2. check: PAL-301 (23505) if it returns a row: duplicate key (c) = (..) violates "t_c_key" of main.t
SELECT "shown"
FROM (
  SELECT CONCAT_WS(', ', CAST("s"."_palimpsest_n3" AS TEXT)) AS "shown"
  FROM "p_changed" AS "s"
  WHERE NOT "s"."_palimpsest_n3" IS NULL
  GROUP BY "s"."_palimpsest_n3"
  HAVING COUNT(*) > 1
  UNION ALL
  SELECT CONCAT_WS(', ', CAST("s"."_palimpsest_n3" AS TEXT)) AS "shown"
  FROM "p_changed" AS "s"
  JOIN (
    SELECT "o"."k", "o"."a", "o"."b", "o"."c", "o"."version_number"
    FROM (
      SELECT "k", "a", "b", "c", "version_number", "subsequent_version_number"
      FROM "_palimpsest"."t1_base"
      UNION ALL
      SELECT "k", "a", "b", "c", "version_number", "subsequent_version_number"
      FROM "_palimpsest"."t1_delta"
      UNION ALL
      SELECT "k", "a", "b", "c", "version_number", "subsequent_version_number"
      FROM "_palimpsest"."t1_head"
    ) AS "o"
    WHERE
      "o"."subsequent_version_number" IS NULL
      AND NOT EXISTS(
        SELECT 1
        FROM (
          SELECT "k", "a", "b", "c", "version_number", "subsequent_version_number"
          FROM "_palimpsest"."t1_delta"
          UNION ALL
          SELECT "k", "a", "b", "c", "version_number", "subsequent_version_number"
          FROM "_palimpsest"."t1_head"
        ) AS "c"
        WHERE
          ("c"."k" = "o"."k" AND "c"."version_number" = "o"."version_number")
          AND (NOT "c"."subsequent_version_number" IS NULL OR "c"."subsequent_version_number" = "c"."version_number")
          AND "c"."subsequent_version_number" > "c"."version_number"
      )
  ) AS "c" ON "c"."c" = "s"."_palimpsest_n3"
  WHERE
    NOT "s"."_palimpsest_n3" IS NULL
    AND NOT EXISTS(SELECT 1 FROM "p_changed" AS "e" WHERE "e"."_palimpsest_o0" = "c"."k")
) AS "g"
LIMIT 1;
-- 3. append to main.t_journal
SELECT
  "s"."_palimpsest_o0" AS "k",
  "s"."_palimpsest_o1" AS "a",
  "s"."_palimpsest_o2" AS "b",
  "s"."_palimpsest_o3" AS "c",
  "s"."_palimpsest_ov" AS "version_number",
  CAST((
    CAST('1970-01-01 00:00:00+00' AS TIMESTAMPTZ) + ($1) * INTERVAL '1 MICROSECOND'
  ) AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM "p_changed" AS "s"
UNION ALL
SELECT
  "s"."_palimpsest_o0" AS "k",
  "s"."_palimpsest_o1" AS "a",
  "s"."_palimpsest_o2" AS "b",
  "s"."_palimpsest_n3" AS "c",
  CAST((
    CAST('1970-01-01 00:00:00+00' AS TIMESTAMPTZ) + ($1) * INTERVAL '1 MICROSECOND'
  ) AS TIMESTAMPTZ) AS "version_number",
  CAST(NULL AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM "p_changed" AS "s";
