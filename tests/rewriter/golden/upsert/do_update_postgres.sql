-- In the postgres dialect rows of the source with the same key are an error.
-- client: postgres
-- run: no, the oracle takes the first of them
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER);
INSERT INTO main.t VALUES (1, 10);
-- statement
INSERT INTO main.t VALUES (1, 1), (1, 2) ON CONFLICT (k) DO UPDATE SET a = excluded.a;
-- plan: embedded
-- 1. keep as "p_rows"
SELECT r."_palimpsest_c0" AS _palimpsest_n0, r."_palimpsest_c1" AS _palimpsest_n1, ROW_NUMBER() OVER () AS rn
FROM (
  SELECT *
  FROM (VALUES
    (CAST(1 AS INT), CAST(1 AS INT)),
    (CAST(1 AS INT), CAST(2 AS INT))) AS v(_palimpsest_c0, _palimpsest_c1)
) AS r;
-- 2. check: PAL-302 (23502) if it returns a row: null in column ".." of main.t, which is NOT NULL
SELECT CASE WHEN s."_palimpsest_n0" IS NULL THEN 'k' END AS found
FROM p_rows AS s
WHERE s."_palimpsest_n0" IS NULL
LIMIT 1;
-- 3. check: PAL-304 (21000) if it returns a row: two rows of the source have the same (k) = (..), so the row would
-- change twice
SELECT CONCAT_WS(', ', CAST("_palimpsest_n0" AS TEXT))
FROM p_rows AS p_rows
WHERE NOT "_palimpsest_n0" IS NULL
GROUP BY "_palimpsest_n0"
HAVING COUNT(*) > 1
LIMIT 1;
-- 4. keep as "p_changed"
SELECT
  t."k" AS _palimpsest_o0,
  t."a" AS _palimpsest_o1,
  t."_palimpsest_version" AS _palimpsest_ov,
  NOT t."_palimpsest_version" IS NULL AS _palimpsest_ends,
  CASE WHEN NOT t."_palimpsest_version" IS NULL THEN t."k" ELSE excluded."k" END AS _palimpsest_n0,
  CASE WHEN NOT t."_palimpsest_version" IS NULL THEN CAST(excluded."a" AS INT) ELSE excluded."a"
  END AS _palimpsest_n1
FROM (SELECT r."_palimpsest_n0" AS "k", r."_palimpsest_n1" AS "a" FROM p_rows AS r) AS "excluded"
LEFT JOIN (
  SELECT o."k", o."a", o."version_number" AS "_palimpsest_version"
  FROM (
    SELECT "k", "a", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_base
    UNION ALL
    SELECT "k", "a", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_delta
    WHERE "subsequent_version_number" IS NULL
    UNION ALL
    SELECT "k", "a", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_head
    WHERE "subsequent_version_number" IS NULL
  ) AS o
  ANTI JOIN (
    SELECT "k", "a", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_delta
    UNION ALL
    SELECT "k", "a", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_head
  ) AS c
    ON (c."k" = o."k" AND c."version_number" = o."version_number")
    AND c."subsequent_version_number" > c."version_number"
) AS "t" ON t."k" = excluded."k";
-- 5. check: PAL-302 (23502) if it returns a row: null in column ".." of main.t, which is NOT NULL
SELECT CASE WHEN s."_palimpsest_n0" IS NULL THEN 'k' END AS found
FROM p_changed AS s
WHERE s."_palimpsest_n0" IS NULL
LIMIT 1;
-- 6. append to main.t_journal
SELECT
  s."_palimpsest_o0" AS "k",
  s."_palimpsest_o1" AS "a",
  s."_palimpsest_ov" AS "version_number",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed AS s
WHERE s."_palimpsest_ends"
UNION ALL
SELECT
  s."_palimpsest_o0" AS "k",
  s."_palimpsest_o1" AS "a",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "version_number",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed AS s
WHERE s."_palimpsest_ends" AND ((s."_palimpsest_o0" IS DISTINCT FROM s."_palimpsest_n0"))
UNION ALL
SELECT
  s."_palimpsest_n0" AS "k",
  s."_palimpsest_n1" AS "a",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "version_number",
  CAST(NULL AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed AS s;
-- 7. row count
SELECT COUNT(*)
FROM p_changed;
