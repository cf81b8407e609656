-- A key that changes, of a table that refers to itself: what the statement changes, and what follows.
-- run: no, a plain DuckDB has no actions
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, up INTEGER REFERENCES main.t ON UPDATE CASCADE);
INSERT INTO main.t VALUES (1, NULL), (2, 1), (3, 2);
-- statement
UPDATE main.t SET k = k + 10 WHERE k < 3;
-- plan: embedded
-- 1. keep as "p_changed"
SELECT
  t."k" AS _palimpsest_o0,
  t."up" AS _palimpsest_o1,
  t."_palimpsest_version" AS _palimpsest_ov,
  CAST(k + 10 AS INT) AS _palimpsest_n0
FROM (
  SELECT o."k", o."up", o."version_number" AS "_palimpsest_version"
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
) AS "t"
WHERE k < 3;
-- 2. check: PAL-302 (23502) if it returns a row: null in column ".." of main.t, which is NOT NULL
SELECT CASE WHEN s."_palimpsest_n0" IS NULL THEN 'k' END AS found
FROM p_changed AS s
WHERE s."_palimpsest_n0" IS NULL
LIMIT 1;
-- 3. check: PAL-301 (23505) if it returns a row: duplicate key (k) = (..) violates "t_pkey" of main.t
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
    SELECT o."k", o."up", o."version_number"
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
  ) AS c ON c."k" = s."_palimpsest_n0"
  WHERE NOT s."_palimpsest_n0" IS NULL AND NOT EXISTS(SELECT 1 FROM p_changed AS e WHERE e."_palimpsest_o0" = c."k")
) AS g
LIMIT 1;
-- 4. keep as "p_cascade_0"
SELECT
  s."_palimpsest_o0",
  s."_palimpsest_o1",
  s."_palimpsest_ov",
  s."_palimpsest_n0" AS _palimpsest_n0,
  CAST(CASE WHEN NOT e0."hit" IS NULL THEN e0."w0" ELSE s."_palimpsest_n1" END AS INT) AS _palimpsest_n1,
  s."_palimpsest_ends" AS _palimpsest_ends,
  s."_palimpsest_begins" AS _palimpsest_begins
FROM (
  SELECT
    c."_palimpsest_o0",
    c."_palimpsest_o1",
    c."_palimpsest_ov",
    c."_palimpsest_n0",
    c."_palimpsest_n1",
    TRUE AS _palimpsest_ends,
    TRUE AS _palimpsest_begins,
    FALSE AS _palimpsest_begins_changed
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
  ) AS c
  ANTI JOIN p_changed AS e ON c."_palimpsest_o0" = e."_palimpsest_o0"
  UNION ALL
  SELECT
    s."_palimpsest_o0" AS _palimpsest_o0,
    s."_palimpsest_o1" AS _palimpsest_o1,
    s."_palimpsest_ov" AS _palimpsest_ov,
    s."_palimpsest_n0" AS _palimpsest_n0,
    s."_palimpsest_o1" AS _palimpsest_n1,
    TRUE AS _palimpsest_ends,
    TRUE AS _palimpsest_begins,
    TRUE AS _palimpsest_begins_changed
  FROM p_changed AS s
) AS s
LEFT JOIN (
  SELECT s."_palimpsest_o0" AS v0, s."_palimpsest_n0" AS w0, TRUE AS hit
  FROM p_changed AS s
  WHERE NOT s."_palimpsest_o0" IS NULL AND (s."_palimpsest_o0" IS DISTINCT FROM s."_palimpsest_n0")
) AS e0 ON s."_palimpsest_n1" = e0."v0" AND s."_palimpsest_ends" AND s."_palimpsest_begins"
WHERE s."_palimpsest_begins_changed" OR NOT e0."hit" IS NULL;
-- 5. check: PAL-319 (54000) if it returns a row: foreign keys would change .. further rows, at most 1,000,000 are taken
-- (max_cascade_rows)
SELECT reached
FROM (SELECT 0 + (SELECT COUNT(*) FROM p_cascade_0) - (SELECT COUNT(*) FROM p_changed) AS reached) AS c
WHERE reached > 1000000;
-- 6. check: PAL-302 (23502) if it returns a row: null in column ".." of main.t, which is NOT NULL
SELECT CASE WHEN s."_palimpsest_n0" IS NULL THEN 'k' END AS found
FROM p_cascade_0 AS s
WHERE s."_palimpsest_begins" AND s."_palimpsest_n0" IS NULL
LIMIT 1;
-- 7. check: PAL-301 (23505) if it returns a row: duplicate key (k) = (..) violates "t_pkey" of main.t
SELECT shown
FROM (
  SELECT CONCAT_WS(', ', CAST(s."_palimpsest_n0" AS TEXT)) AS shown
  FROM p_cascade_0 AS s
  WHERE s."_palimpsest_begins" AND NOT s."_palimpsest_n0" IS NULL
  GROUP BY s."_palimpsest_n0"
  HAVING COUNT(*) > 1
  UNION ALL
  SELECT CONCAT_WS(', ', CAST(s."_palimpsest_n0" AS TEXT)) AS shown
  FROM p_cascade_0 AS s
  JOIN (
    SELECT o."k", o."up", o."version_number"
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
  ) AS c ON c."k" = s."_palimpsest_n0"
  WHERE
    (s."_palimpsest_begins" AND NOT s."_palimpsest_n0" IS NULL)
    AND NOT EXISTS(SELECT 1 FROM p_cascade_0 AS e WHERE e."_palimpsest_ends" AND e."_palimpsest_o0" = c."k")
) AS g
LIMIT 1;
-- 8. check: PAL-307 (23503) if it returns a row: foreign key (up) = (..) violates "t_up_fkey" of main.t: main.t has no
-- such (k)
SELECT CONCAT_WS(', ', CAST(s."v0" AS TEXT)) AS shown
FROM (
  SELECT s."_palimpsest_n1" AS v0
  FROM p_cascade_0 AS s
  WHERE
    s."_palimpsest_begins"
    AND NOT s."_palimpsest_n1" IS NULL
    AND (s."_palimpsest_o1" IS DISTINCT FROM s."_palimpsest_n1" OR NOT s."_palimpsest_ends")
) AS s
ANTI JOIN (
  SELECT *
  FROM (
    SELECT o."k"
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
  ANTI JOIN p_cascade_0 AS e0 ON c."k" = e0."_palimpsest_o0" AND e0."_palimpsest_ends"
) AS p ON p."k" = s."v0"
ANTI JOIN p_cascade_0 AS b0 ON b0."_palimpsest_n0" = s."v0" AND b0."_palimpsest_begins"
LIMIT 1;
-- 9. check: PAL-307 (23503) if it returns a row: key (k) = (..) of main.t cannot go: "t_up_fkey" of main.t refers to it
SELECT CONCAT_WS(', ', CAST(s."v0" AS TEXT)) AS shown
FROM (
  SELECT *
  FROM (
    SELECT s."_palimpsest_o0" AS v0
    FROM p_cascade_0 AS s
    WHERE s."_palimpsest_ends" AND NOT s."_palimpsest_o0" IS NULL
  ) AS s
  ANTI JOIN p_cascade_0 AS b ON b."_palimpsest_n0" = s."v0" AND b."_palimpsest_begins"
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
    ANTI JOIN p_cascade_0 AS e0 ON c."k" = e0."_palimpsest_o0" AND e0."_palimpsest_ends"
  ) AS c
  UNION ALL
  SELECT n."_palimpsest_n1" AS v0
  FROM p_cascade_0 AS n
  WHERE n."_palimpsest_begins"
) AS c ON c."v0" = s."v0"
LIMIT 1;
-- 10. append to main.t_journal
SELECT
  s."_palimpsest_o0" AS "k",
  s."_palimpsest_o1" AS "up",
  s."_palimpsest_ov" AS "version_number",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_cascade_0 AS s
WHERE s."_palimpsest_ends"
UNION ALL
SELECT
  s."_palimpsest_o0" AS "k",
  s."_palimpsest_o1" AS "up",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "version_number",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_cascade_0 AS s
WHERE
  s."_palimpsest_ends"
  AND (NOT s."_palimpsest_begins" OR (s."_palimpsest_o0" IS DISTINCT FROM s."_palimpsest_n0"))
UNION ALL
SELECT
  s."_palimpsest_n0" AS "k",
  s."_palimpsest_n1" AS "up",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "version_number",
  CAST(NULL AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_cascade_0 AS s
WHERE s."_palimpsest_begins";
-- 11. row count
SELECT COUNT(*)
FROM p_changed;
