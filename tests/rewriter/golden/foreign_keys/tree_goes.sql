-- A table that refers to itself: with a row go all that hang from it.
-- run: no, a plain DuckDB has no actions
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, up INTEGER REFERENCES main.t ON DELETE CASCADE);
INSERT INTO main.t VALUES (1, NULL), (2, 1), (3, 2);
-- statement
DELETE FROM main.t WHERE k = 1;
-- plan: embedded
-- 1. keep as "p_changed"
SELECT t."k" AS _palimpsest_o0, t."up" AS _palimpsest_o1, t."_palimpsest_version" AS _palimpsest_ov
FROM (
  SELECT "k", "up", "version_number" AS "_palimpsest_version"
  FROM (
    SELECT *
    FROM (
      SELECT "k", "up", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_base
      WHERE "k" = 1
      UNION ALL
      SELECT "k", "up", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_delta
      WHERE "k" = 1
      UNION ALL
      SELECT "k", "up", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_head
      WHERE "k" = 1
    ) AS u
    ORDER BY COALESCE("subsequent_version_number", "version_number") DESC, "subsequent_version_number" NULLS FIRST
    LIMIT 1
  ) AS o
  WHERE o."subsequent_version_number" IS NULL
) AS "t"
WHERE k = 1;
-- 2. keep as "p_tree_0"
WITH RECURSIVE g(v0) AS (
  SELECT s."_palimpsest_o0" AS v0
  FROM p_changed AS s
  UNION
  SELECT r."_palimpsest_o0"
  FROM (
    SELECT
      o."k" AS "_palimpsest_o0",
      o."up" AS "_palimpsest_o1",
      o."version_number" AS "_palimpsest_ov",
      o."k" AS "_palimpsest_n0",
      o."up" AS "_palimpsest_n1"
    FROM (
      SELECT "k", "up", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_base
      UNION ALL
      SELECT "k", "up", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_delta
      WHERE "subsequent_version_number" IS NULL
      UNION ALL
      SELECT "k", "up", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_head
      WHERE "subsequent_version_number" IS NULL
    ) AS o
    ANTI JOIN (
      SELECT "k", "up", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_delta
      UNION ALL
      SELECT "k", "up", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_head
    ) AS c
      ON (c."k" = o."k" AND c."version_number" = o."version_number")
      AND c."subsequent_version_number" > c."version_number"
  ) AS r
  INNER JOIN g ON r."_palimpsest_n1" = g."v0"
)
SELECT g."v0"
FROM g;
-- 3. keep as "p_cascade_0"
SELECT s."_palimpsest_o0", s."_palimpsest_o1", s."_palimpsest_ov"
FROM (
  SELECT o."k" AS "_palimpsest_o0", o."up" AS "_palimpsest_o1", o."version_number" AS "_palimpsest_ov"
  FROM (
    SELECT "k", "up", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_base
    UNION ALL
    SELECT "k", "up", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_delta
    WHERE "subsequent_version_number" IS NULL
    UNION ALL
    SELECT "k", "up", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_head
    WHERE "subsequent_version_number" IS NULL
  ) AS o
  ANTI JOIN (
    SELECT "k", "up", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_delta
    UNION ALL
    SELECT "k", "up", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_head
  ) AS c
    ON (c."k" = o."k" AND c."version_number" = o."version_number")
    AND c."subsequent_version_number" > c."version_number"
) AS s
INNER JOIN (SELECT DISTINCT "v0" AS v0, TRUE AS hit FROM p_tree_0) AS e0 ON s."_palimpsest_o0" = e0."v0";
-- 4. check: PAL-319 (54000) if it returns a row: foreign keys would change .. further rows, at most 1,000,000 are taken
-- (max_cascade_rows)
SELECT reached
FROM (SELECT 0 + (SELECT COUNT(*) FROM p_cascade_0) - (SELECT COUNT(*) FROM p_changed) AS reached) AS c
WHERE reached > 1000000;
-- 5. check: PAL-307 (23503) if it returns a row: key (k) = (..) of main.t cannot go: "t_up_fkey" of main.t refers to it
SELECT CONCAT_WS(', ', CAST(s."v0" AS TEXT)) AS shown
FROM (
  SELECT *
  FROM (SELECT s."_palimpsest_o0" AS v0 FROM p_cascade_0 AS s WHERE NOT s."_palimpsest_o0" IS NULL) AS s
) AS s
SEMI JOIN (
  SELECT c."up" AS v0
  FROM (
    SELECT *
    FROM (
      SELECT o."up", o."k"
      FROM (
        SELECT "k", "up", "version_number", "subsequent_version_number"
        FROM _palimpsest.t1_base
        UNION ALL
        SELECT "k", "up", "version_number", "subsequent_version_number"
        FROM _palimpsest.t1_delta
        WHERE "subsequent_version_number" IS NULL
        UNION ALL
        SELECT "k", "up", "version_number", "subsequent_version_number"
        FROM _palimpsest.t1_head
        WHERE "subsequent_version_number" IS NULL
      ) AS o
      ANTI JOIN (
        SELECT "k", "up", "version_number", "subsequent_version_number"
        FROM _palimpsest.t1_delta
        UNION ALL
        SELECT "k", "up", "version_number", "subsequent_version_number"
        FROM _palimpsest.t1_head
      ) AS c
        ON (c."k" = o."k" AND c."version_number" = o."version_number")
        AND c."subsequent_version_number" > c."version_number"
    ) AS c
    ANTI JOIN p_cascade_0 AS e0 ON c."k" = e0."_palimpsest_o0"
  ) AS c
) AS c ON c."v0" = s."v0"
LIMIT 1;
-- 6. append to main.t_journal
SELECT
  s."_palimpsest_o0" AS "k",
  s."_palimpsest_o1" AS "up",
  s."_palimpsest_ov" AS "version_number",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_cascade_0 AS s
UNION ALL
SELECT
  s."_palimpsest_o0" AS "k",
  s."_palimpsest_o1" AS "up",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "version_number",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_cascade_0 AS s;
-- 7. row count
SELECT COUNT(*)
FROM p_changed;
