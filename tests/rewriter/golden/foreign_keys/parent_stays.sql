-- A parent that changes, but not in its key.
-- setup
CREATE TABLE main.p (a INTEGER PRIMARY KEY, n VARCHAR);
CREATE TABLE main.c (k INTEGER PRIMARY KEY, x INTEGER REFERENCES main.p (a), v VARCHAR);
CREATE TABLE main.tree (id INTEGER PRIMARY KEY, up INTEGER REFERENCES main.tree (id));
INSERT INTO main.p VALUES (1, 'one'), (2, 'two'), (3, 'three');
INSERT INTO main.c VALUES (1, 1, 'a'), (2, NULL, 'b');
INSERT INTO main.tree VALUES (1, NULL);
-- statement
UPDATE main.p SET n = 'eins' WHERE a = 1;
-- plan: embedded
-- 1. append to main.p_journal
WITH p_changed AS MATERIALIZED (
  SELECT
    p."a" AS _palimpsest_o0,
    p."n" AS _palimpsest_o1,
    p."_palimpsest_version" AS _palimpsest_ov,
    CAST('eins' AS TEXT) AS _palimpsest_n1
  FROM (
    SELECT "a", "n", "version_number" AS "_palimpsest_version"
    FROM (
      SELECT *
      FROM (
        SELECT "a", "n", "version_number", "subsequent_version_number"
        FROM _palimpsest.t1_base
        WHERE "a" = 1
        UNION ALL
        SELECT "a", "n", "version_number", "subsequent_version_number"
        FROM _palimpsest.t1_delta
        WHERE "a" = 1
        UNION ALL
        SELECT "a", "n", "version_number", "subsequent_version_number"
        FROM _palimpsest.t1_head
        WHERE "a" = 1
      ) AS u
      ORDER BY COALESCE("subsequent_version_number", "version_number") DESC, "subsequent_version_number" NULLS FIRST
      LIMIT 1
    ) AS o
    WHERE o."subsequent_version_number" IS NULL
  ) AS "p"
  WHERE a = 1
)
SELECT
  s."_palimpsest_o0" AS "a",
  s."_palimpsest_o1" AS "n",
  s."_palimpsest_ov" AS "version_number",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed AS s
UNION ALL
SELECT
  s."_palimpsest_o0" AS "a",
  s."_palimpsest_n1" AS "n",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "version_number",
  CAST(NULL AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed AS s;
