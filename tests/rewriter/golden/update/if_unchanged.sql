-- A row is only changed if it still has the version that a client read.
-- run: no: a plain table has no versions
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR);
INSERT INTO main.t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, 30, 'x'), (4, NULL, 'z');
UPDATE main.t SET a = 31 WHERE k = 3;
DELETE FROM main.t WHERE k = 4;
-- statement
UPDATE main.t SET a = 0 WHERE k = 1 AND version_number = TIMESTAMPTZ '2026-01-01 00:00:00+00';
-- plan: embedded
-- 1. append to main.t_journal
WITH p_changed AS MATERIALIZED (
  SELECT
    t."k" AS _palimpsest_o0,
    t."a" AS _palimpsest_o1,
    t."b" AS _palimpsest_o2,
    t."_palimpsest_version" AS _palimpsest_ov,
    CAST(0 AS INT) AS _palimpsest_n1
  FROM (
    SELECT
      "k",
      "a",
      "b",
      "version_number" AS "_palimpsest_version",
      "version_number",
      CAST(NULL AS TIMESTAMPTZ) AS "subsequent_version_number"
    FROM (
      SELECT *
      FROM (
        SELECT "k", "a", "b", "version_number", "subsequent_version_number"
        FROM _palimpsest.t1_base
        WHERE "k" = 1
        UNION ALL
        SELECT "k", "a", "b", "version_number", "subsequent_version_number"
        FROM _palimpsest.t1_delta
        WHERE "k" = 1
        UNION ALL
        SELECT "k", "a", "b", "version_number", "subsequent_version_number"
        FROM _palimpsest.t1_head
        WHERE "k" = 1
      ) AS u
      ORDER BY COALESCE("subsequent_version_number", "version_number") DESC, "subsequent_version_number" NULLS FIRST
      LIMIT 1
    ) AS o
    WHERE o."subsequent_version_number" IS NULL
  ) AS "t"
  WHERE k = 1 AND version_number = CAST('2026-01-01 00:00:00+00' AS TIMESTAMPTZ)
)
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
