-- Staged texts are compared by their bytes: a key is.
-- setup
CREATE TABLE main.s (b VARCHAR COLLATE NOCASE);
CREATE TABLE main.t (k VARCHAR PRIMARY KEY, a INTEGER);
INSERT INTO main.s VALUES ('a'), ('A');
-- statement
INSERT INTO main.t SELECT b, 1 FROM main.s;
-- plan: embedded
-- 1. keep as "p_changed"
SELECT DECODE(ENCODE(q."_palimpsest_n0")) AS "_palimpsest_n0", q."_palimpsest_n1"
FROM (
  SELECT r."_palimpsest_c0" AS _palimpsest_n0, r."_palimpsest_c1" AS _palimpsest_n1
  FROM (
    SELECT CAST(q._palimpsest_c0 AS TEXT) AS _palimpsest_c0, CAST(q._palimpsest_c1 AS INT) AS _palimpsest_c1
    FROM (
      SELECT b, 1
      FROM (
        SELECT o."b" COLLATE "NOCASE" AS "b"
        FROM (
          SELECT "b", "_row_id", "version_number", "subsequent_version_number"
          FROM _palimpsest.t1_base
          UNION ALL
          SELECT "b", "_row_id", "version_number", "subsequent_version_number"
          FROM _palimpsest.t1_delta
          WHERE "subsequent_version_number" IS NULL
          UNION ALL
          SELECT "b", "_row_id", "version_number", "subsequent_version_number"
          FROM _palimpsest.t1_head
          WHERE "subsequent_version_number" IS NULL
        ) AS o
        ANTI JOIN (
          SELECT "b", "_row_id", "version_number", "subsequent_version_number"
          FROM _palimpsest.t1_delta
          UNION ALL
          SELECT "b", "_row_id", "version_number", "subsequent_version_number"
          FROM _palimpsest.t1_head
        ) AS c
          ON (c."_row_id" = o."_row_id" AND c."version_number" = o."version_number")
          AND c."subsequent_version_number" > c."version_number"
      ) AS "s"
    ) AS q(_palimpsest_c0, _palimpsest_c1)
  ) AS r
) AS q;
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
    SELECT o."k", o."a", o."version_number"
    FROM (
      SELECT "k", "a", "version_number", "subsequent_version_number"
      FROM _palimpsest.t2_base
      UNION ALL
      SELECT "k", "a", "version_number", "subsequent_version_number"
      FROM _palimpsest.t2_delta
      WHERE "subsequent_version_number" IS NULL
      UNION ALL
      SELECT "k", "a", "version_number", "subsequent_version_number"
      FROM _palimpsest.t2_head
      WHERE "subsequent_version_number" IS NULL
    ) AS o
    ANTI JOIN (
      SELECT "k", "a", "version_number", "subsequent_version_number"
      FROM _palimpsest.t2_delta
      UNION ALL
      SELECT "k", "a", "version_number", "subsequent_version_number"
      FROM _palimpsest.t2_head
    ) AS c
      ON (c."k" = o."k" AND c."version_number" = o."version_number")
      AND c."subsequent_version_number" > c."version_number"
  ) AS c ON c."k" = s."_palimpsest_n0"
  WHERE NOT s."_palimpsest_n0" IS NULL
) AS g
LIMIT 1;
-- 4. append to main.t_journal
SELECT
  s."_palimpsest_n0" AS "k",
  s."_palimpsest_n1" AS "a",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "version_number",
  CAST(NULL AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed AS s;
