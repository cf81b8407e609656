-- Rows that refer to one another.
-- setup
CREATE TABLE main.p (a INTEGER PRIMARY KEY, n VARCHAR);
CREATE TABLE main.c (k INTEGER PRIMARY KEY, x INTEGER REFERENCES main.p (a), v VARCHAR);
CREATE TABLE main.tree (id INTEGER PRIMARY KEY, up INTEGER REFERENCES main.tree (id));
INSERT INTO main.p VALUES (1, 'one'), (2, 'two'), (3, 'three');
INSERT INTO main.c VALUES (1, 1, 'a'), (2, NULL, 'b');
INSERT INTO main.tree VALUES (1, NULL);
-- statement
INSERT INTO main.tree VALUES (2, 1), (3, 1);
-- plan: embedded
-- 1. keep as "p_changed"
SELECT r."_palimpsest_c0" AS _palimpsest_n0, r."_palimpsest_c1" AS _palimpsest_n1
FROM (
  SELECT *
  FROM (VALUES
    (CAST(2 AS INT), CAST(1 AS INT)),
    (CAST(3 AS INT), CAST(1 AS INT))) AS v(_palimpsest_c0, _palimpsest_c1)
) AS r;
-- 2. check: PAL-302 (23502) if it returns a row: null in column ".." of main.tree, which is NOT NULL
SELECT CASE WHEN s."_palimpsest_n0" IS NULL THEN 'id' END AS found
FROM p_changed AS s
WHERE s."_palimpsest_n0" IS NULL
LIMIT 1;
-- 3. check: PAL-301 (23505) if it returns a row: duplicate key (id) = (..) violates "tree_pkey" of main.tree
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
    SELECT o."id", o."up", o."version_number"
    FROM (
      SELECT "id", "up", "version_number", "subsequent_version_number"
      FROM _palimpsest.t3_base
      UNION ALL
      SELECT "id", "up", "version_number", "subsequent_version_number"
      FROM _palimpsest.t3_delta
      WHERE "subsequent_version_number" IS NULL
      UNION ALL
      SELECT "id", "up", "version_number", "subsequent_version_number"
      FROM _palimpsest.t3_head
      WHERE "subsequent_version_number" IS NULL
    ) AS o
    ANTI JOIN (
      SELECT "id", "up", "version_number", "subsequent_version_number"
      FROM _palimpsest.t3_delta
      UNION ALL
      SELECT "id", "up", "version_number", "subsequent_version_number"
      FROM _palimpsest.t3_head
    ) AS c
      ON (c."id" = o."id" AND c."version_number" = o."version_number")
      AND c."subsequent_version_number" > c."version_number"
  ) AS c ON c."id" = s."_palimpsest_n0"
  WHERE NOT s."_palimpsest_n0" IS NULL
) AS g
LIMIT 1;
-- 4. check: PAL-307 (23503) if it returns a row: foreign key (up) = (..) violates "tree_up_fkey" of main.tree:
-- main.tree has no such (id)
SELECT CONCAT_WS(', ', CAST(s."v0" AS TEXT)) AS shown
FROM (SELECT s."_palimpsest_n1" AS v0 FROM p_changed AS s WHERE NOT s."_palimpsest_n1" IS NULL) AS s
ANTI JOIN (
  SELECT o."id"
  FROM (
    SELECT "id", "up", "version_number", "subsequent_version_number"
    FROM _palimpsest.t3_base
    UNION ALL
    SELECT "id", "up", "version_number", "subsequent_version_number"
    FROM _palimpsest.t3_delta
    WHERE "subsequent_version_number" IS NULL
    UNION ALL
    SELECT "id", "up", "version_number", "subsequent_version_number"
    FROM _palimpsest.t3_head
    WHERE "subsequent_version_number" IS NULL
  ) AS o
  ANTI JOIN (
    SELECT "id", "up", "version_number", "subsequent_version_number"
    FROM _palimpsest.t3_delta
    UNION ALL
    SELECT "id", "up", "version_number", "subsequent_version_number"
    FROM _palimpsest.t3_head
  ) AS c
    ON (c."id" = o."id" AND c."version_number" = o."version_number")
    AND c."subsequent_version_number" > c."version_number"
) AS p ON p."id" = s."v0"
ANTI JOIN p_changed AS b0 ON b0."_palimpsest_n0" = s."v0"
LIMIT 1;
-- 5. append to main.tree_journal
SELECT
  s."_palimpsest_n0" AS "id",
  s."_palimpsest_n1" AS "up",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "version_number",
  CAST(NULL AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed AS s;
