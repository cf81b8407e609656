-- Rows of a table without a key are named by their hidden row id.
-- setup
CREATE TABLE main.loose (a INTEGER, b VARCHAR);
INSERT INTO main.loose VALUES (1, 'x'), (1, 'x'), (2, 'y');
-- statement
UPDATE main.loose SET b = 'n' WHERE a = 1;
-- plan: embedded
-- 1. keep as "p_changed"
SELECT
  loose."a" AS _palimpsest_o0,
  loose."b" AS _palimpsest_o1,
  loose."_row_id" AS _palimpsest_o2,
  loose."_palimpsest_version" AS _palimpsest_ov,
  CAST('n' AS TEXT) AS _palimpsest_n1
FROM (
  SELECT o."a", o."b", o."_row_id", o."version_number" AS "_palimpsest_version"
  FROM (
    SELECT "a", "b", "_row_id", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_base
    UNION ALL
    SELECT "a", "b", "_row_id", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_delta
    WHERE "subsequent_version_number" IS NULL
    UNION ALL
    SELECT "a", "b", "_row_id", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_head
    WHERE "subsequent_version_number" IS NULL
  ) AS o
  ANTI JOIN (
    SELECT "a", "b", "_row_id", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_delta
    UNION ALL
    SELECT "a", "b", "_row_id", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_head
  ) AS c
    ON (c."_row_id" = o."_row_id" AND c."version_number" = o."version_number")
    AND c."subsequent_version_number" > c."version_number"
) AS "loose"
WHERE a = 1;
-- 2. append to main.loose_journal
SELECT
  s."_palimpsest_o0" AS "a",
  s."_palimpsest_o1" AS "b",
  s."_palimpsest_o2" AS "_row_id",
  s."_palimpsest_ov" AS "version_number",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed AS s
UNION ALL
SELECT
  s."_palimpsest_o0" AS "a",
  s."_palimpsest_n1" AS "b",
  s."_palimpsest_o2" AS "_row_id",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "version_number",
  CAST(NULL AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed AS s;
