-- A conflict about a part of the rows names that part.
-- client: postgres
-- run: no, DuckDB has no partial indexes
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR);
INSERT INTO main.t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, NULL, 'z'), (4, NULL, NULL);
UPDATE main.t SET a = 11 WHERE k = 1;
DELETE FROM main.t WHERE k = 2;
CREATE UNIQUE INDEX i ON main.t (a) WHERE b <> 'x';
-- statement
INSERT INTO main.t VALUES (8, 11, 'y'), (9, 11, 'z') ON CONFLICT (a) WHERE b <> 'x' DO NOTHING;
-- plan: embedded
-- 1. keep as "p_rows"
SELECT
  r."_palimpsest_c0" AS _palimpsest_n0,
  r."_palimpsest_c1" AS _palimpsest_n1,
  r."_palimpsest_c2" AS _palimpsest_n2,
  ROW_NUMBER() OVER () AS rn
FROM (
  SELECT *
  FROM (VALUES
    (CAST(8 AS INT), CAST(11 AS INT), CAST('y' AS TEXT)),
    (CAST(9 AS INT), CAST(11 AS INT), CAST('z' AS TEXT))) AS v(_palimpsest_c0, _palimpsest_c1, _palimpsest_c2)
) AS r;
-- 2. check: PAL-302 (23502) if it returns a row: null in column ".." of main.t, which is NOT NULL
SELECT CASE WHEN s."_palimpsest_n0" IS NULL THEN 'k' END AS found
FROM p_rows AS s
WHERE s."_palimpsest_n0" IS NULL
LIMIT 1;
-- 3. keep as "p_changed"
SELECT r."_palimpsest_n0", r."_palimpsest_n1", r."_palimpsest_n2"
FROM p_rows AS r
WHERE
  NOT EXISTS(
    SELECT 1
    FROM (
      SELECT o."k", o."a", o."b", o."version_number"
      FROM (
        SELECT "k", "a", "b", "version_number", "subsequent_version_number"
        FROM _palimpsest.t1_base
        UNION ALL
        SELECT "k", "a", "b", "version_number", "subsequent_version_number"
        FROM _palimpsest.t1_delta
        WHERE "subsequent_version_number" IS NULL
        UNION ALL
        SELECT "k", "a", "b", "version_number", "subsequent_version_number"
        FROM _palimpsest.t1_head
        WHERE "subsequent_version_number" IS NULL
      ) AS o
      ANTI JOIN (
        SELECT "k", "a", "b", "version_number", "subsequent_version_number"
        FROM _palimpsest.t1_delta
        UNION ALL
        SELECT "k", "a", "b", "version_number", "subsequent_version_number"
        FROM _palimpsest.t1_head
      ) AS c
        ON (c."k" = o."k" AND c."version_number" = o."version_number")
        AND c."subsequent_version_number" > c."version_number"
    ) AS c
    WHERE CASE WHEN (c."b" <> 'x') THEN c."a" END = CASE WHEN (r."_palimpsest_n2" <> 'x') THEN r."_palimpsest_n1" END
  )
  AND NOT EXISTS(
    SELECT 1
    FROM (
      SELECT CASE WHEN ("_palimpsest_n2" <> 'x') THEN "_palimpsest_n1" END AS _palimpsest_k0, MIN("rn") AS rn
      FROM p_rows AS p_rows
      GROUP BY CASE WHEN ("_palimpsest_n2" <> 'x') THEN "_palimpsest_n1" END
    ) AS g
    WHERE g."_palimpsest_k0" = CASE WHEN (r."_palimpsest_n2" <> 'x') THEN r."_palimpsest_n1" END AND g."rn" < r."rn"
  );
-- 4. check: PAL-302 (23502) if it returns a row: null in column ".." of main.t, which is NOT NULL
SELECT CASE WHEN s."_palimpsest_n0" IS NULL THEN 'k' END AS found
FROM p_changed AS s
WHERE s."_palimpsest_n0" IS NULL
LIMIT 1;
-- 5. check: PAL-301 (23505) if it returns a row: duplicate key (k) = (..) violates "t_pkey" of main.t
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
    SELECT o."k", o."a", o."b", o."version_number"
    FROM (
      SELECT "k", "a", "b", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_base
      UNION ALL
      SELECT "k", "a", "b", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_delta
      WHERE "subsequent_version_number" IS NULL
      UNION ALL
      SELECT "k", "a", "b", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_head
      WHERE "subsequent_version_number" IS NULL
    ) AS o
    ANTI JOIN (
      SELECT "k", "a", "b", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_delta
      UNION ALL
      SELECT "k", "a", "b", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_head
    ) AS c
      ON (c."k" = o."k" AND c."version_number" = o."version_number")
      AND c."subsequent_version_number" > c."version_number"
  ) AS c ON c."k" = s."_palimpsest_n0"
  WHERE NOT s."_palimpsest_n0" IS NULL
) AS g
LIMIT 1;
-- 6. append to main.t_journal
SELECT
  s."_palimpsest_n0" AS "k",
  s."_palimpsest_n1" AS "a",
  s."_palimpsest_n2" AS "b",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "version_number",
  CAST(NULL AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed AS s;
