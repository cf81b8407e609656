-- Constants for a row that is in memory need no store.
-- form: cached
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR);
INSERT INTO main.t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, 30, 'x'), (4, NULL, 'z');
UPDATE main.t SET a = 31 WHERE k = 3;
DELETE FROM main.t WHERE k = 4;
-- statement
UPDATE main.t SET a = 5, b = 'n' WHERE k = 2;
-- plan: embedded, with cached rows
-- 1. append to main.t_journal
WITH p_changed AS MATERIALIZED (
  SELECT
    t."k" AS _palimpsest_o0,
    t."a" AS _palimpsest_o1,
    t."b" AS _palimpsest_o2,
    t."_palimpsest_version" AS _palimpsest_ov,
    CAST(5 AS INT) AS _palimpsest_n1,
    CAST('n' AS TEXT) AS _palimpsest_n2
  FROM (
    SELECT "k", "a", "b", "version_number" AS "_palimpsest_version"
    FROM (
      SELECT
        CAST($p_row_0_0 AS INT) AS "k",
        CAST($p_row_0_1 AS INT) AS "a",
        CAST($p_row_0_2 AS TEXT) AS "b",
        CAST(MAKE_TIMESTAMPTZ($p_row_0_version) AS TIMESTAMPTZ) AS "version_number"
      WHERE $p_row_0_there
    ) AS o
  ) AS "t"
  WHERE k = 2
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
  s."_palimpsest_n2" AS "b",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "version_number",
  CAST(NULL AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed AS s;
-- no store is needed: PointChange(table_id=1, values=((1, Literal(this=5, is_string=False)), (2, Literal(this='n',
-- is_string=True))))
-- plan: embedded
-- 1. append to main.t_journal
WITH p_changed AS MATERIALIZED (
  SELECT
    t."k" AS _palimpsest_o0,
    t."a" AS _palimpsest_o1,
    t."b" AS _palimpsest_o2,
    t."_palimpsest_version" AS _palimpsest_ov,
    CAST(5 AS INT) AS _palimpsest_n1,
    CAST('n' AS TEXT) AS _palimpsest_n2
  FROM (
    SELECT "k", "a", "b", "version_number" AS "_palimpsest_version"
    FROM (
      SELECT *
      FROM (
        SELECT "k", "a", "b", "version_number", "subsequent_version_number"
        FROM _palimpsest.t1_base
        WHERE "k" = 2
        UNION ALL
        SELECT "k", "a", "b", "version_number", "subsequent_version_number"
        FROM _palimpsest.t1_delta
        WHERE "k" = 2
        UNION ALL
        SELECT "k", "a", "b", "version_number", "subsequent_version_number"
        FROM _palimpsest.t1_head
        WHERE "k" = 2
      ) AS u
      ORDER BY COALESCE("subsequent_version_number", "version_number") DESC, "subsequent_version_number" NULLS FIRST
      LIMIT 1
    ) AS o
    WHERE o."subsequent_version_number" IS NULL
  ) AS "t"
  WHERE k = 2
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
  s."_palimpsest_n2" AS "b",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "version_number",
  CAST(NULL AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed AS s;
