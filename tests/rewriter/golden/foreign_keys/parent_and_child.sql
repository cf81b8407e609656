-- Parent and child in one statement.
-- run: no: DuckDB has no writing CTEs
-- setup
CREATE TABLE main.p (a INTEGER PRIMARY KEY, n VARCHAR);
CREATE TABLE main.c (k INTEGER PRIMARY KEY, x INTEGER REFERENCES main.p (a), v VARCHAR);
CREATE TABLE main.tree (id INTEGER PRIMARY KEY, up INTEGER REFERENCES main.tree (id));
INSERT INTO main.p VALUES (1, 'one'), (2, 'two'), (3, 'three');
INSERT INTO main.c VALUES (1, 1, 'a'), (2, NULL, 'b');
INSERT INTO main.tree VALUES (1, NULL);
-- statement
WITH new AS (INSERT INTO main.p VALUES (7, 'seven') RETURNING a) INSERT INTO main.c SELECT a, a, 'x' FROM new;
-- plan: embedded, optimistic
-- 1. keep as "p_changed"
SELECT r."_palimpsest_c0" AS _palimpsest_n0, r."_palimpsest_c1" AS _palimpsest_n1
FROM (SELECT CAST(7 AS INT) AS _palimpsest_c0, CAST('seven' AS TEXT) AS _palimpsest_c1) AS r;
-- 2. check: PAL-302 (23502) if it returns a row: null in column ".." of main.p, which is NOT NULL
SELECT CASE WHEN s."_palimpsest_n0" IS NULL THEN 'a' END AS found
FROM p_changed AS s
WHERE s."_palimpsest_n0" IS NULL
LIMIT 1;
-- 3. check: PAL-301 (23505) if it returns a row: duplicate key (a) = (..) violates "p_pkey" of main.p
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
    SELECT o."a", o."n", o."version_number"
    FROM (
      SELECT "a", "n", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_base
      UNION ALL
      SELECT "a", "n", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_delta
      WHERE "subsequent_version_number" IS NULL
      UNION ALL
      SELECT "a", "n", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_head
      WHERE "subsequent_version_number" IS NULL
    ) AS o
    ANTI JOIN (
      SELECT "a", "n", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_delta
      UNION ALL
      SELECT "a", "n", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_head
    ) AS c
      ON (c."a" = o."a" AND c."version_number" = o."version_number")
      AND c."subsequent_version_number" > c."version_number"
  ) AS c ON c."a" = s."_palimpsest_n0"
  WHERE NOT s."_palimpsest_n0" IS NULL
) AS g
LIMIT 1;
-- 4. keep as "p_returned"
SELECT a
FROM (SELECT s."_palimpsest_n0" AS "a", s."_palimpsest_n1" AS "n" FROM p_changed AS s) AS "p";
-- 5. keep as "p_changed_1"
SELECT
  r."_palimpsest_c0" AS _palimpsest_n0,
  r."_palimpsest_c1" AS _palimpsest_n1,
  r."_palimpsest_c2" AS _palimpsest_n2
FROM (
  SELECT
    CAST(q._palimpsest_c0 AS INT) AS _palimpsest_c0,
    CAST(q._palimpsest_c1 AS INT) AS _palimpsest_c1,
    CAST(q._palimpsest_c2 AS TEXT) AS _palimpsest_c2
  FROM (
    WITH new AS (SELECT * FROM p_returned AS p_returned)
    SELECT a, a, 'x'
    FROM new
  ) AS q(_palimpsest_c0, _palimpsest_c1, _palimpsest_c2)
) AS r;
-- 6. check: PAL-302 (23502) if it returns a row: null in column ".." of main.c, which is NOT NULL
SELECT CASE WHEN s."_palimpsest_n0" IS NULL THEN 'k' END AS found
FROM p_changed_1 AS s
WHERE s."_palimpsest_n0" IS NULL
LIMIT 1;
-- 7. check: PAL-301 (23505) if it returns a row: duplicate key (k) = (..) violates "c_pkey" of main.c
SELECT shown
FROM (
  SELECT CONCAT_WS(', ', CAST(s."_palimpsest_n0" AS TEXT)) AS shown
  FROM p_changed_1 AS s
  WHERE NOT s."_palimpsest_n0" IS NULL
  GROUP BY s."_palimpsest_n0"
  HAVING COUNT(*) > 1
  UNION ALL
  SELECT CONCAT_WS(', ', CAST(s."_palimpsest_n0" AS TEXT)) AS shown
  FROM p_changed_1 AS s
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
-- 8. check: PAL-307 (23503) if it returns a row: foreign key (x) = (..) violates "c_x_fkey" of main.c: main.p has no
-- such (a)
SELECT CONCAT_WS(', ', CAST(s."v0" AS TEXT)) AS shown
FROM (SELECT s."_palimpsest_n1" AS v0 FROM p_changed_1 AS s WHERE NOT s."_palimpsest_n1" IS NULL) AS s
ANTI JOIN (
  SELECT o."a"
  FROM (
    SELECT "a", "n", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_base
    UNION ALL
    SELECT "a", "n", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_delta
    WHERE "subsequent_version_number" IS NULL
    UNION ALL
    SELECT "a", "n", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_head
    WHERE "subsequent_version_number" IS NULL
  ) AS o
  ANTI JOIN (
    SELECT "a", "n", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_delta
    UNION ALL
    SELECT "a", "n", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_head
  ) AS c
    ON (c."a" = o."a" AND c."version_number" = o."version_number")
    AND c."subsequent_version_number" > c."version_number"
) AS p ON p."a" = s."v0"
ANTI JOIN p_changed AS b0 ON b0."_palimpsest_n0" = s."v0"
LIMIT 1;
-- 9. append to main.p_journal
SELECT
  s."_palimpsest_n0" AS "a",
  s."_palimpsest_n1" AS "n",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "version_number",
  CAST(NULL AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed AS s;
-- 10. append to main.c_journal
SELECT
  s."_palimpsest_n0" AS "k",
  s."_palimpsest_n1" AS "x",
  s."_palimpsest_n2" AS "v",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "version_number",
  CAST(NULL AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed_1 AS s;
-- plan: embedded, after a failure
-- 1. keep as "p_changed"
SELECT r."_palimpsest_c0" AS _palimpsest_n0, r."_palimpsest_c1" AS _palimpsest_n1
FROM (SELECT * FROM (VALUES (CAST(7 AS INT), CAST('seven' AS TEXT))) AS v(_palimpsest_c0, _palimpsest_c1)) AS r;
-- 2. check: PAL-302 (23502) if it returns a row: null in column ".." of main.p, which is NOT NULL
SELECT CASE WHEN s."_palimpsest_n0" IS NULL THEN 'a' END AS found
FROM p_changed AS s
WHERE s."_palimpsest_n0" IS NULL
LIMIT 1;
-- 3. check: PAL-301 (23505) if it returns a row: duplicate key (a) = (..) violates "p_pkey" of main.p
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
    SELECT o."a", o."n", o."version_number"
    FROM (
      SELECT "a", "n", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_base
      UNION ALL
      SELECT "a", "n", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_delta
      WHERE "subsequent_version_number" IS NULL
      UNION ALL
      SELECT "a", "n", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_head
      WHERE "subsequent_version_number" IS NULL
    ) AS o
    ANTI JOIN (
      SELECT "a", "n", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_delta
      UNION ALL
      SELECT "a", "n", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_head
    ) AS c
      ON (c."a" = o."a" AND c."version_number" = o."version_number")
      AND c."subsequent_version_number" > c."version_number"
  ) AS c ON c."a" = s."_palimpsest_n0"
  WHERE NOT s."_palimpsest_n0" IS NULL
) AS g
LIMIT 1;
-- 4. keep as "p_returned"
SELECT a
FROM (SELECT s."_palimpsest_n0" AS "a", s."_palimpsest_n1" AS "n" FROM p_changed AS s) AS "p";
-- 5. keep as "p_changed_1"
SELECT
  r."_palimpsest_c0" AS _palimpsest_n0,
  r."_palimpsest_c1" AS _palimpsest_n1,
  r."_palimpsest_c2" AS _palimpsest_n2
FROM (
  SELECT
    CAST(q._palimpsest_c0 AS INT) AS _palimpsest_c0,
    CAST(q._palimpsest_c1 AS INT) AS _palimpsest_c1,
    CAST(q._palimpsest_c2 AS TEXT) AS _palimpsest_c2
  FROM (
    WITH new AS (SELECT * FROM p_returned AS p_returned)
    SELECT a, a, 'x'
    FROM new
  ) AS q(_palimpsest_c0, _palimpsest_c1, _palimpsest_c2)
) AS r;
-- 6. check: PAL-302 (23502) if it returns a row: null in column ".." of main.c, which is NOT NULL
SELECT CASE WHEN s."_palimpsest_n0" IS NULL THEN 'k' END AS found
FROM p_changed_1 AS s
WHERE s."_palimpsest_n0" IS NULL
LIMIT 1;
-- 7. check: PAL-301 (23505) if it returns a row: duplicate key (k) = (..) violates "c_pkey" of main.c
SELECT shown
FROM (
  SELECT CONCAT_WS(', ', CAST(s."_palimpsest_n0" AS TEXT)) AS shown
  FROM p_changed_1 AS s
  WHERE NOT s."_palimpsest_n0" IS NULL
  GROUP BY s."_palimpsest_n0"
  HAVING COUNT(*) > 1
  UNION ALL
  SELECT CONCAT_WS(', ', CAST(s."_palimpsest_n0" AS TEXT)) AS shown
  FROM p_changed_1 AS s
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
-- 8. check: PAL-307 (23503) if it returns a row: foreign key (x) = (..) violates "c_x_fkey" of main.c: main.p has no
-- such (a)
SELECT CONCAT_WS(', ', CAST(s."v0" AS TEXT)) AS shown
FROM (SELECT s."_palimpsest_n1" AS v0 FROM p_changed_1 AS s WHERE NOT s."_palimpsest_n1" IS NULL) AS s
ANTI JOIN (
  SELECT o."a"
  FROM (
    SELECT "a", "n", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_base
    UNION ALL
    SELECT "a", "n", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_delta
    WHERE "subsequent_version_number" IS NULL
    UNION ALL
    SELECT "a", "n", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_head
    WHERE "subsequent_version_number" IS NULL
  ) AS o
  ANTI JOIN (
    SELECT "a", "n", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_delta
    UNION ALL
    SELECT "a", "n", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_head
  ) AS c
    ON (c."a" = o."a" AND c."version_number" = o."version_number")
    AND c."subsequent_version_number" > c."version_number"
) AS p ON p."a" = s."v0"
ANTI JOIN p_changed AS b0 ON b0."_palimpsest_n0" = s."v0"
LIMIT 1;
-- 9. append to main.p_journal
SELECT
  s."_palimpsest_n0" AS "a",
  s."_palimpsest_n1" AS "n",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "version_number",
  CAST(NULL AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed AS s;
-- 10. append to main.c_journal
SELECT
  s."_palimpsest_n0" AS "k",
  s."_palimpsest_n1" AS "x",
  s."_palimpsest_n2" AS "v",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "version_number",
  CAST(NULL AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed_1 AS s;
