-- A child without its parent.
-- setup
CREATE TABLE main.p (a INTEGER PRIMARY KEY, n VARCHAR);
CREATE TABLE main.c (k INTEGER PRIMARY KEY, x INTEGER REFERENCES main.p (a), v VARCHAR);
CREATE TABLE main.tree (id INTEGER PRIMARY KEY, up INTEGER REFERENCES main.tree (id));
INSERT INTO main.p VALUES (1, 'one'), (2, 'two'), (3, 'three');
INSERT INTO main.c VALUES (1, 1, 'a'), (2, NULL, 'b');
INSERT INTO main.tree VALUES (1, NULL);
-- statement
INSERT INTO main.c VALUES (5, 99, 'e');
-- plan: embedded, optimistic
-- 1. append to main.c_journal
WITH p_changed AS MATERIALIZED (
  SELECT
    r."_palimpsest_c0" AS _palimpsest_n0,
    r."_palimpsest_c1" AS _palimpsest_n1,
    r."_palimpsest_c2" AS _palimpsest_n2
  FROM (
    SELECT CAST(5 AS INT) AS _palimpsest_c0, CAST(99 AS INT) AS _palimpsest_c1, CAST('e' AS TEXT) AS _palimpsest_c2
  ) AS r
)
SELECT
  s."_palimpsest_n0" AS "k",
  s."_palimpsest_n1" AS "x",
  s."_palimpsest_n2" AS "v",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "version_number",
  CAST(NULL AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed AS s
WHERE
  CASE
    WHEN s."_palimpsest_n0" IS NULL
    THEN ERROR('_palimpsest refuses a row (0) [k] _palimpsest')
    WHEN EXISTS(
      SELECT 1 AS "taken"
      FROM (
        SELECT *
        FROM (
          SELECT "version_number", "subsequent_version_number"
          FROM _palimpsest.t2_base
          WHERE "k" = CAST(5 AS INT)
          UNION ALL
          SELECT "version_number", "subsequent_version_number"
          FROM _palimpsest.t2_delta
          WHERE "k" = CAST(5 AS INT)
          UNION ALL
          SELECT "version_number", "subsequent_version_number"
          FROM _palimpsest.t2_head
          WHERE "k" = CAST(5 AS INT)
        ) AS u
        ORDER BY COALESCE("subsequent_version_number", "version_number") DESC, "subsequent_version_number" NULLS FIRST
        LIMIT 1
      ) AS o
      WHERE o."subsequent_version_number" IS NULL
    )
    THEN ERROR(CONCAT('_palimpsest refuses a row (1) [', CAST(s."_palimpsest_n0" AS TEXT), '] _palimpsest'))
    WHEN NOT s."_palimpsest_n1" IS NULL
    AND NOT EXISTS(
      SELECT 1 AS "found"
      FROM (
        SELECT *
        FROM (
          SELECT "version_number", "subsequent_version_number"
          FROM _palimpsest.t1_base
          WHERE "a" = CAST(99 AS INT)
          UNION ALL
          SELECT "version_number", "subsequent_version_number"
          FROM _palimpsest.t1_delta
          WHERE "a" = CAST(99 AS INT)
          UNION ALL
          SELECT "version_number", "subsequent_version_number"
          FROM _palimpsest.t1_head
          WHERE "a" = CAST(99 AS INT)
        ) AS u
        ORDER BY COALESCE("subsequent_version_number", "version_number") DESC, "subsequent_version_number" NULLS FIRST
        LIMIT 1
      ) AS o
      WHERE o."subsequent_version_number" IS NULL
    )
    THEN ERROR(CONCAT('_palimpsest refuses a row (2) [', CAST(s."_palimpsest_n1" AS TEXT), '] _palimpsest'))
    ELSE TRUE
  END;
-- plan: embedded, after a failure
-- 1. keep as "p_changed"
SELECT
  r."_palimpsest_c0" AS _palimpsest_n0,
  r."_palimpsest_c1" AS _palimpsest_n1,
  r."_palimpsest_c2" AS _palimpsest_n2
FROM (
  SELECT *
  FROM (VALUES
    (CAST(5 AS INT), CAST(99 AS INT), CAST('e' AS TEXT))) AS v(_palimpsest_c0, _palimpsest_c1, _palimpsest_c2)
) AS r;
-- 2. check: PAL-302 (23502) if it returns a row: null in column ".." of main.c, which is NOT NULL
SELECT CASE WHEN s."_palimpsest_n0" IS NULL THEN 'k' END AS found
FROM p_changed AS s
WHERE s."_palimpsest_n0" IS NULL
LIMIT 1;
-- 3. check: PAL-301 (23505) if it returns a row: duplicate key (k) = (..) violates "c_pkey" of main.c
SELECT shown
FROM (
  SELECT CONCAT_WS(', ', CAST(s."_palimpsest_n0" AS TEXT)) AS shown
  FROM p_changed AS s
  WHERE NOT s."_palimpsest_n0" IS NULL
  GROUP BY s."_palimpsest_n0"
  HAVING COUNT(*) > 1
  UNION ALL
  SELECT CONCAT_WS(', ', CAST(s."_palimpsest_n0" AS TEXT)) AS shown
  FROM p_changed AS s
  JOIN (
    SELECT o."k", o."x", o."v", o."version_number"
    FROM (
      SELECT "k", "x", "v", "version_number", "subsequent_version_number"
      FROM _palimpsest.t2_base
      UNION ALL
      SELECT "k", "x", "v", "version_number", "subsequent_version_number"
      FROM _palimpsest.t2_delta
      WHERE "subsequent_version_number" IS NULL
      UNION ALL
      SELECT "k", "x", "v", "version_number", "subsequent_version_number"
      FROM _palimpsest.t2_head
      WHERE "subsequent_version_number" IS NULL
    ) AS o
    ANTI JOIN (
      SELECT "k", "x", "v", "version_number", "subsequent_version_number"
      FROM _palimpsest.t2_delta
      UNION ALL
      SELECT "k", "x", "v", "version_number", "subsequent_version_number"
      FROM _palimpsest.t2_head
    ) AS c
      ON (c."k" = o."k" AND c."version_number" = o."version_number")
      AND c."subsequent_version_number" > c."version_number"
  ) AS c ON c."k" = s."_palimpsest_n0"
  WHERE NOT s."_palimpsest_n0" IS NULL
) AS g
LIMIT 1;
-- 4. check: PAL-307 (23503) if it returns a row: foreign key (x) = (..) violates "c_x_fkey" of main.c: main.p has no
-- such (a)
SELECT CONCAT_WS(', ', CAST(s."v0" AS TEXT)) AS shown
FROM (SELECT s."_palimpsest_n1" AS v0 FROM p_changed AS s WHERE NOT s."_palimpsest_n1" IS NULL) AS s
ANTI JOIN (
  SELECT "a"
  FROM (
    SELECT *
    FROM (
      SELECT "a", "n", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_base
      WHERE "a" = CAST(99 AS INT)
      UNION ALL
      SELECT "a", "n", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_delta
      WHERE "a" = CAST(99 AS INT)
      UNION ALL
      SELECT "a", "n", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_head
      WHERE "a" = CAST(99 AS INT)
    ) AS u
    ORDER BY COALESCE("subsequent_version_number", "version_number") DESC, "subsequent_version_number" NULLS FIRST
    LIMIT 1
  ) AS o
  WHERE o."subsequent_version_number" IS NULL
) AS p ON p."a" = s."v0"
LIMIT 1;
-- 5. append to main.c_journal
SELECT
  s."_palimpsest_n0" AS "k",
  s."_palimpsest_n1" AS "x",
  s."_palimpsest_n2" AS "v",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "version_number",
  CAST(NULL AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed AS s;
