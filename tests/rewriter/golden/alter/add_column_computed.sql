-- A default that no constant gives writes a new version of every row.
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR DEFAULT 'none');
INSERT INTO main.t (k, a) VALUES (1, 1), (2, 2), (3, 3);
DELETE FROM main.t WHERE k = 3;
-- statement
ALTER TABLE main.t ADD COLUMN c INTEGER DEFAULT length(current_date::VARCHAR);
-- plan: embedded
-- 1. check: PAL-211 (42P16) if it returns a row:
SELECT 1 AS found
FROM (
  SELECT CAST(NULL AS INT) AS "k", CAST(NULL AS INT) AS "a", CAST(NULL AS TEXT) AS "b", CAST(NULL AS INT) AS "c"
  WHERE FALSE
) AS t
UNION ALL
SELECT 1 AS found
FROM (
  SELECT ANY_VALUE(CAST('none' AS TEXT)) AS found
  FROM (SELECT 1 AS one) AS d
  HAVING COUNT(*) < 0 AND NOT ANY_VALUE(CAST('none' AS TEXT)) IS NULL
) AS v
UNION ALL
SELECT 1 AS found
FROM (
  SELECT ANY_VALUE(CAST(LENGTH(CAST(CURRENT_DATE AS TEXT)) AS INT)) AS found
  FROM (SELECT 1 AS one) AS d
  HAVING COUNT(*) < 0 AND NOT ANY_VALUE(CAST(LENGTH(CAST(CURRENT_DATE AS TEXT)) AS INT)) IS NULL
) AS v;
-- 2. keep as "altered"
SELECT
  CAST(t."k" AS INT) AS _palimpsest_o0,
  CAST(t."a" AS INT) AS _palimpsest_o1,
  CAST(t."b" AS TEXT) AS _palimpsest_o2,
  CAST(LENGTH(CAST(CAST(CAST($p_now AS TIMESTAMPTZ) AS DATE) AS TEXT)) AS INT) AS _palimpsest_n3,
  CAST(NULL AS INT) AS _palimpsest_o3,
  t."version_number" AS _palimpsest_ov
FROM (
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
) AS t;
-- 3. change the catalog: table main.t (key k) with its journal main.t_journal
-- 4. append to main.t_journal
SELECT
  s."_palimpsest_o0" AS "k",
  s."_palimpsest_o1" AS "a",
  s."_palimpsest_o2" AS "b",
  s."_palimpsest_o3" AS "c",
  s."_palimpsest_ov" AS "version_number",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM altered AS s
UNION ALL
SELECT
  s."_palimpsest_o0" AS "k",
  s."_palimpsest_o1" AS "a",
  s."_palimpsest_o2" AS "b",
  s."_palimpsest_n3" AS "c",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "version_number",
  CAST(NULL AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM altered AS s;
