-- Rows that the statement itself lists need not be kept; a sequence that turns says where.
-- run: no: numbers are counted by a session
-- setup
CREATE SEQUENCE main.s MAXVALUE 3 CYCLE;
CREATE TABLE main.t (k INTEGER PRIMARY KEY DEFAULT nextval('main.s'), a INTEGER);
-- statement
INSERT INTO main.t (a) VALUES (nextval('s')), (20);
-- plan: embedded
-- 1. take numbers of main.s as p_next_1
-- 2. take numbers of main.s as p_next_2
-- 3. keep as "p_changed"
SELECT
  CAST(CASE
    WHEN (ROW_NUMBER() OVER () - 1) < CAST($p_next_1_turn AS BIGINT)
    THEN CAST($p_next_1 AS BIGINT) + (ROW_NUMBER() OVER () - 1)
    ELSE CAST(1 AS BIGINT) + (((ROW_NUMBER() OVER () - 1) - CAST($p_next_1_turn AS BIGINT)) % 3)
  END AS INT) AS _palimpsest_n0,
  r."_palimpsest_c0" AS _palimpsest_n1
FROM (
  SELECT *
  FROM (VALUES
    (
      CAST(CASE
        WHEN (0) < CAST($p_next_2_turn AS BIGINT)
        THEN CAST($p_next_2 AS BIGINT) + (0)
        ELSE CAST(1 AS BIGINT) + (((0) - CAST($p_next_2_turn AS BIGINT)) % 3)
      END AS INT)
    ),
    (CAST(20 AS INT))) AS v(_palimpsest_c0)
) AS r;
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
-- 6. append to main.t_journal
SELECT
  s."_palimpsest_n0" AS "k",
  s."_palimpsest_n1" AS "a",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "version_number",
  CAST(NULL AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed AS s;
