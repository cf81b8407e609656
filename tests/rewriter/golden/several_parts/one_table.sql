-- Several parts change rows of one table: no row may be changed by two of them, nor begun twice.
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER);
INSERT INTO main.t VALUES (1, 10), (2, 20);
-- statement
WITH gone AS (DELETE FROM main.t WHERE a > 15 RETURNING k, a) INSERT INTO main.t SELECT k + 10, a FROM gone;
-- plan: embedded
-- 1. keep as "p_changed"
SELECT t."k" AS _palimpsest_o0, t."a" AS _palimpsest_o1, t."_palimpsest_version" AS _palimpsest_ov
FROM (
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
) AS "t"
WHERE a > 15;
-- 2. keep as "p_returned"
SELECT k, a
FROM (SELECT s."_palimpsest_o0" AS "k", s."_palimpsest_o1" AS "a" FROM p_changed AS s) AS "t";
-- 3. keep as "p_changed_1"
SELECT r."_palimpsest_c0" AS _palimpsest_n0, r."_palimpsest_c1" AS _palimpsest_n1
FROM (
  SELECT CAST(q._palimpsest_c0 AS INT) AS _palimpsest_c0, CAST(q._palimpsest_c1 AS INT) AS _palimpsest_c1
  FROM (
    WITH gone AS (SELECT * FROM p_returned AS p_returned)
    SELECT k + 10, a
    FROM gone
  ) AS q(_palimpsest_c0, _palimpsest_c1)
) AS r;
-- 4. check: PAL-302 (23502) if it returns a row: null in column ".." of main.t, which is NOT NULL
SELECT CASE WHEN s."_palimpsest_n0" IS NULL THEN 'k' END AS found
FROM p_changed_1 AS s
WHERE s."_palimpsest_n0" IS NULL
LIMIT 1;
-- 5. check: PAL-301 (23505) if it returns a row: duplicate key (k) = (..) violates "t_pkey" of main.t
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
    SELECT "k" AS k, "a" AS a, "version_number" AS version_number
    FROM (
      SELECT q."k", q."a", q."version_number"
      FROM (
        SELECT *
        FROM (
          SELECT o."k", o."a", o."version_number"
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
        ) AS c
        ANTI JOIN p_changed AS e0 ON c."k" = e0."_palimpsest_o0"
      ) AS q
    ) AS q
  ) AS c ON c."k" = s."_palimpsest_n0"
  WHERE NOT s."_palimpsest_n0" IS NULL
) AS g
LIMIT 1;
-- 6. keep as "p_changed_1_all"
SELECT
  s."_palimpsest_o0" AS _palimpsest_o0,
  s."_palimpsest_o1" AS _palimpsest_o1,
  s."_palimpsest_ov" AS _palimpsest_ov,
  CAST(NULL AS INT) AS _palimpsest_n0,
  CAST(NULL AS INT) AS _palimpsest_n1,
  TRUE AS _palimpsest_ends,
  FALSE AS _palimpsest_begins
FROM p_changed AS s
WHERE s."_palimpsest_ov" <> CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ)
UNION ALL
SELECT
  CAST(NULL AS INT) AS _palimpsest_o0,
  CAST(NULL AS INT) AS _palimpsest_o1,
  CAST(NULL AS TIMESTAMPTZ) AS _palimpsest_ov,
  s."_palimpsest_n0" AS _palimpsest_n0,
  s."_palimpsest_n1" AS _palimpsest_n1,
  FALSE AS _palimpsest_ends,
  TRUE AS _palimpsest_begins
FROM p_changed_1 AS s;
-- 7. append to main.t_journal
SELECT
  s."_palimpsest_o0" AS "k",
  s."_palimpsest_o1" AS "a",
  s."_palimpsest_ov" AS "version_number",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed_1_all AS s
WHERE s."_palimpsest_ends"
UNION ALL
SELECT
  s."_palimpsest_o0" AS "k",
  s."_palimpsest_o1" AS "a",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "version_number",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed_1_all AS s
WHERE
  s."_palimpsest_ends"
  AND (NOT s."_palimpsest_begins" OR (s."_palimpsest_o0" IS DISTINCT FROM s."_palimpsest_n0"))
UNION ALL
SELECT
  s."_palimpsest_n0" AS "k",
  s."_palimpsest_n1" AS "a",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "version_number",
  CAST(NULL AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed_1_all AS s
WHERE s."_palimpsest_begins";
-- 8. row count
SELECT COUNT(*)
FROM p_changed_1;
