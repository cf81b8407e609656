-- RETURNING gives the new values.
-- stores: embedded, postgresql
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR);
INSERT INTO main.t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, 30, 'x'), (4, NULL, 'z');
UPDATE main.t SET a = 31 WHERE k = 3;
DELETE FROM main.t WHERE k = 4;
-- statement
UPDATE main.t SET a = a + 1 WHERE b = 'x' RETURNING k, a;
-- plan: embedded
-- 1. keep as "p_changed"
SELECT
  t."k" AS _palimpsest_o0,
  t."a" AS _palimpsest_o1,
  t."b" AS _palimpsest_o2,
  t."_palimpsest_version" AS _palimpsest_ov,
  CAST(a + 1 AS INT) AS _palimpsest_n1
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
WHERE b = 'x';
-- 2. result
SELECT k, a
FROM (
  SELECT s."_palimpsest_o0" AS "k", s."_palimpsest_n1" AS "a", s."_palimpsest_o2" AS "b"
  FROM p_changed AS s
) AS "t";
-- 3. append to main.t_journal
SELECT
  s."_palimpsest_o0" AS "k",
  s."_palimpsest_o1" AS "a",
  s."_palimpsest_o2" AS "b",
  s."_palimpsest_ov" AS "version_number",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed AS s
UNION ALL
SELECT
  s."_palimpsest_o0" AS "k",
  s."_palimpsest_n1" AS "a",
  s."_palimpsest_o2" AS "b",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "version_number",
  CAST(NULL AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed AS s;
-- plan: postgresql
-- 1. keep as "p_changed"
SELECT
  "t"."k" AS "_palimpsest_o0",
  "t"."a" AS "_palimpsest_o1",
  "t"."b" AS "_palimpsest_o2",
  "t"."_palimpsest_version" AS "_palimpsest_ov",
  CAST("a" + 1 AS INT) AS "_palimpsest_n1"
FROM (
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
) AS "t"
WHERE "b" = 'x';
-- 2. result
SELECT "k", "a"
FROM (
  SELECT "s"."_palimpsest_o0" AS "k", "s"."_palimpsest_n1" AS "a", "s"."_palimpsest_o2" AS "b"
  FROM "p_changed" AS "s"
) AS "t";
-- 3. append to main.t_journal
SELECT
  "s"."_palimpsest_o0" AS "k",
  "s"."_palimpsest_o1" AS "a",
  "s"."_palimpsest_o2" AS "b",
  "s"."_palimpsest_ov" AS "version_number",
  CAST((
    CAST('1970-01-01 00:00:00+00' AS TIMESTAMPTZ) + ($1) * INTERVAL '1 MICROSECOND'
  ) AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM "p_changed" AS "s"
UNION ALL
SELECT
  "s"."_palimpsest_o0" AS "k",
  "s"."_palimpsest_n1" AS "a",
  "s"."_palimpsest_o2" AS "b",
  CAST((
    CAST('1970-01-01 00:00:00+00' AS TIMESTAMPTZ) + ($1) * INTERVAL '1 MICROSECOND'
  ) AS TIMESTAMPTZ) AS "version_number",
  CAST(NULL AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM "p_changed" AS "s";
