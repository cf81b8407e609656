-- Rows that refer to deleted ones: some go, too, and what refers to these is set.
-- run: no, a plain DuckDB has no actions
-- setup
CREATE TABLE main.p (k INTEGER PRIMARY KEY);
CREATE TABLE main.c (k INTEGER PRIMARY KEY, r INTEGER REFERENCES main.p ON DELETE CASCADE);
CREATE TABLE main.d (r INTEGER REFERENCES main.c ON DELETE SET NULL, s INTEGER REFERENCES main.p ON DELETE SET NULL);
INSERT INTO main.p VALUES (1), (2);
INSERT INTO main.c VALUES (10, 1), (20, 2);
INSERT INTO main.d VALUES (10, 1), (20, 2);
-- statement
DELETE FROM main.p WHERE k = 1;
-- plan: embedded
-- 1. keep as "p_changed"
SELECT p."k" AS _palimpsest_o0, p."_palimpsest_version" AS _palimpsest_ov
FROM (
  SELECT "k", "version_number" AS "_palimpsest_version"
  FROM (
    SELECT *
    FROM (
      SELECT "k", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_base
      WHERE "k" = 1
      UNION ALL
      SELECT "k", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_delta
      WHERE "k" = 1
      UNION ALL
      SELECT "k", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_head
      WHERE "k" = 1
    ) AS u
    ORDER BY COALESCE("subsequent_version_number", "version_number") DESC, "subsequent_version_number" NULLS FIRST
    LIMIT 1
  ) AS o
  WHERE o."subsequent_version_number" IS NULL
) AS "p"
WHERE k = 1;
-- 2. keep as "p_cascade_0"
SELECT s."_palimpsest_o0", s."_palimpsest_o1", s."_palimpsest_ov"
FROM (
  SELECT o."k" AS "_palimpsest_o0", o."r" AS "_palimpsest_o1", o."version_number" AS "_palimpsest_ov"
  FROM (
    SELECT "k", "r", "version_number", "subsequent_version_number"
    FROM _palimpsest.t2_base
    UNION ALL
    SELECT "k", "r", "version_number", "subsequent_version_number"
    FROM _palimpsest.t2_delta
    WHERE "subsequent_version_number" IS NULL
    UNION ALL
    SELECT "k", "r", "version_number", "subsequent_version_number"
    FROM _palimpsest.t2_head
    WHERE "subsequent_version_number" IS NULL
  ) AS o
  ANTI JOIN (
    SELECT "k", "r", "version_number", "subsequent_version_number"
    FROM _palimpsest.t2_delta
    UNION ALL
    SELECT "k", "r", "version_number", "subsequent_version_number"
    FROM _palimpsest.t2_head
  ) AS c
    ON (c."k" = o."k" AND c."version_number" = o."version_number")
    AND c."subsequent_version_number" > c."version_number"
) AS s
INNER JOIN (
  SELECT s."_palimpsest_o0" AS v0, TRUE AS hit
  FROM p_changed AS s
  WHERE NOT s."_palimpsest_o0" IS NULL
) AS e0 ON s."_palimpsest_o1" = e0."v0";
-- 3. keep as "p_cascade_1"
SELECT
  s."_palimpsest_o0",
  s."_palimpsest_o1",
  s."_palimpsest_o2",
  s."_palimpsest_ov",
  CAST(CASE WHEN NOT e1."hit" IS NULL THEN NULL ELSE s."_palimpsest_o0" END AS INT) AS _palimpsest_n0,
  CAST(CASE WHEN NOT e0."hit" IS NULL THEN NULL ELSE s."_palimpsest_o1" END AS INT) AS _palimpsest_n1
FROM (
  SELECT
    o."r" AS "_palimpsest_o0",
    o."s" AS "_palimpsest_o1",
    o."_row_id" AS "_palimpsest_o2",
    o."version_number" AS "_palimpsest_ov"
  FROM (
    SELECT "r", "s", "_row_id", "version_number", "subsequent_version_number"
    FROM _palimpsest.t3_base
    UNION ALL
    SELECT "r", "s", "_row_id", "version_number", "subsequent_version_number"
    FROM _palimpsest.t3_delta
    WHERE "subsequent_version_number" IS NULL
    UNION ALL
    SELECT "r", "s", "_row_id", "version_number", "subsequent_version_number"
    FROM _palimpsest.t3_head
    WHERE "subsequent_version_number" IS NULL
  ) AS o
  ANTI JOIN (
    SELECT "r", "s", "_row_id", "version_number", "subsequent_version_number"
    FROM _palimpsest.t3_delta
    UNION ALL
    SELECT "r", "s", "_row_id", "version_number", "subsequent_version_number"
    FROM _palimpsest.t3_head
  ) AS c
    ON (c."_row_id" = o."_row_id" AND c."version_number" = o."version_number")
    AND c."subsequent_version_number" > c."version_number"
) AS s
LEFT JOIN (
  SELECT s."_palimpsest_o0" AS v0, TRUE AS hit
  FROM p_changed AS s
  WHERE NOT s."_palimpsest_o0" IS NULL
) AS e0 ON s."_palimpsest_o1" = e0."v0"
LEFT JOIN (
  SELECT s."_palimpsest_o0" AS v0, TRUE AS hit
  FROM p_cascade_0 AS s
  WHERE NOT s."_palimpsest_o0" IS NULL
) AS e1 ON s."_palimpsest_o0" = e1."v0"
WHERE NOT e0."hit" IS NULL OR NOT e1."hit" IS NULL;
-- 4. check: PAL-319 (54000) if it returns a row: foreign keys would change .. further rows, at most 1,000,000 are taken
-- (max_cascade_rows)
SELECT reached
FROM (SELECT 0 + (SELECT COUNT(*) FROM p_cascade_0) + (SELECT COUNT(*) FROM p_cascade_1) AS reached) AS c
WHERE reached > 1000000;
-- 5. check: PAL-307 (23503) if it returns a row: foreign key (r) = (..) violates "d_r_fkey" of main.d: main.c has no
-- such (k)
SELECT CONCAT_WS(', ', CAST(s."v0" AS TEXT)) AS shown
FROM (
  SELECT s."_palimpsest_n0" AS v0
  FROM p_cascade_1 AS s
  WHERE NOT s."_palimpsest_n0" IS NULL AND (s."_palimpsest_o0" IS DISTINCT FROM s."_palimpsest_n0")
) AS s
ANTI JOIN (
  SELECT *
  FROM (
    SELECT o."k"
    FROM (
      SELECT "k", "r", "version_number", "subsequent_version_number"
      FROM _palimpsest.t2_base
      UNION ALL
      SELECT "k", "r", "version_number", "subsequent_version_number"
      FROM _palimpsest.t2_delta
      WHERE "subsequent_version_number" IS NULL
      UNION ALL
      SELECT "k", "r", "version_number", "subsequent_version_number"
      FROM _palimpsest.t2_head
      WHERE "subsequent_version_number" IS NULL
    ) AS o
    ANTI JOIN (
      SELECT "k", "r", "version_number", "subsequent_version_number"
      FROM _palimpsest.t2_delta
      UNION ALL
      SELECT "k", "r", "version_number", "subsequent_version_number"
      FROM _palimpsest.t2_head
    ) AS c
      ON (c."k" = o."k" AND c."version_number" = o."version_number")
      AND c."subsequent_version_number" > c."version_number"
  ) AS c
  ANTI JOIN p_cascade_0 AS e0 ON c."k" = e0."_palimpsest_o0"
) AS p ON p."k" = s."v0"
LIMIT 1;
-- 6. check: PAL-307 (23503) if it returns a row: foreign key (s) = (..) violates "d_s_fkey" of main.d: main.p has no
-- such (k)
SELECT CONCAT_WS(', ', CAST(s."v0" AS TEXT)) AS shown
FROM (
  SELECT s."_palimpsest_n1" AS v0
  FROM p_cascade_1 AS s
  WHERE NOT s."_palimpsest_n1" IS NULL AND (s."_palimpsest_o1" IS DISTINCT FROM s."_palimpsest_n1")
) AS s
ANTI JOIN (
  SELECT *
  FROM (
    SELECT o."k"
    FROM (
      SELECT "k", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_base
      UNION ALL
      SELECT "k", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_delta
      WHERE "subsequent_version_number" IS NULL
      UNION ALL
      SELECT "k", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_head
      WHERE "subsequent_version_number" IS NULL
    ) AS o
    ANTI JOIN (
      SELECT "k", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_delta
      UNION ALL
      SELECT "k", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_head
    ) AS c
      ON (c."k" = o."k" AND c."version_number" = o."version_number")
      AND c."subsequent_version_number" > c."version_number"
  ) AS c
  ANTI JOIN p_changed AS e0 ON c."k" = e0."_palimpsest_o0"
) AS p ON p."k" = s."v0"
LIMIT 1;
-- 7. append to main.c_journal
SELECT
  s."_palimpsest_o0" AS "k",
  s."_palimpsest_o1" AS "r",
  s."_palimpsest_ov" AS "version_number",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_cascade_0 AS s
UNION ALL
SELECT
  s."_palimpsest_o0" AS "k",
  s."_palimpsest_o1" AS "r",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "version_number",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_cascade_0 AS s;
-- 8. append to main.d_journal
SELECT
  s."_palimpsest_o0" AS "r",
  s."_palimpsest_o1" AS "s",
  s."_palimpsest_o2" AS "_row_id",
  s."_palimpsest_ov" AS "version_number",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_cascade_1 AS s
UNION ALL
SELECT
  s."_palimpsest_n0" AS "r",
  s."_palimpsest_n1" AS "s",
  s."_palimpsest_o2" AS "_row_id",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "version_number",
  CAST(NULL AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_cascade_1 AS s;
-- 9. append to main.p_journal
SELECT
  s."_palimpsest_o0" AS "k",
  s."_palimpsest_ov" AS "version_number",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed AS s
UNION ALL
SELECT
  s."_palimpsest_o0" AS "k",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "version_number",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed AS s;
