-- A column that refers to nothing needs no guard.
-- setup
CREATE TABLE main.p (a INTEGER PRIMARY KEY, n VARCHAR);
CREATE TABLE main.c (k INTEGER PRIMARY KEY, x INTEGER REFERENCES main.p (a), v VARCHAR);
CREATE TABLE main.tree (id INTEGER PRIMARY KEY, up INTEGER REFERENCES main.tree (id));
INSERT INTO main.p VALUES (1, 'one'), (2, 'two'), (3, 'three');
INSERT INTO main.c VALUES (1, 1, 'a'), (2, NULL, 'b');
INSERT INTO main.tree VALUES (1, NULL);
-- statement
UPDATE main.c SET v = 'z' WHERE k = 1;
-- plan: embedded
-- 1. append to main.c_journal
WITH p_changed AS MATERIALIZED (
  SELECT
    c."k" AS _palimpsest_o0,
    c."x" AS _palimpsest_o1,
    c."v" AS _palimpsest_o2,
    c."_palimpsest_version" AS _palimpsest_ov,
    CAST('z' AS TEXT) AS _palimpsest_n2
  FROM (
    SELECT "k", "x", "v", "version_number" AS "_palimpsest_version"
    FROM (
      SELECT *
      FROM (
        SELECT "k", "x", "v", "version_number", "subsequent_version_number"
        FROM _palimpsest.t2_base
        WHERE "k" = 1
        UNION ALL
        SELECT "k", "x", "v", "version_number", "subsequent_version_number"
        FROM _palimpsest.t2_delta
        WHERE "k" = 1
        UNION ALL
        SELECT "k", "x", "v", "version_number", "subsequent_version_number"
        FROM _palimpsest.t2_head
        WHERE "k" = 1
      ) AS u
      ORDER BY COALESCE("subsequent_version_number", "version_number") DESC, "subsequent_version_number" NULLS FIRST
      LIMIT 1
    ) AS o
    WHERE o."subsequent_version_number" IS NULL
  ) AS "c"
  WHERE k = 1
)
SELECT
  s."_palimpsest_o0" AS "k",
  s."_palimpsest_o1" AS "x",
  s."_palimpsest_o2" AS "v",
  s."_palimpsest_ov" AS "version_number",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed AS s
UNION ALL
SELECT
  s."_palimpsest_o0" AS "k",
  s."_palimpsest_o1" AS "x",
  s."_palimpsest_n2" AS "v",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "version_number",
  CAST(NULL AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed AS s;
