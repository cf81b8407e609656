-- A table that is replaced by a query over itself.
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR DEFAULT 'none');
INSERT INTO main.t (k, a) VALUES (1, 1), (2, 2), (3, 3);
DELETE FROM main.t WHERE k = 3;
-- statement
CREATE OR REPLACE TABLE main.t AS SELECT k, b FROM main.t;
-- plan: embedded
-- 1. change the catalog: drop main.t; its journal stays
-- 2. check: PAL-211 (42P16) if it returns a row:
SELECT 1 AS found
FROM (SELECT CAST(NULL AS UNKNOWN) AS "k", CAST(NULL AS UNKNOWN) AS "b" WHERE FALSE) AS t;
-- 3. reserve generated numbers for "_row_id" as p_first__row_id
-- 4. keep as "changed"
SELECT
  CAST(r."c0" AS UNKNOWN) AS _palimpsest_n0,
  CAST(r."c1" AS UNKNOWN) AS _palimpsest_n1,
  $p_first__row_id + (ROW_NUMBER() OVER () - 1) AS _palimpsest_n2
FROM (
  SELECT k, b
  FROM (
    SELECT o."k", o."a", o."b"
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
  ) AS "t"
) AS r("c0", "c1");
-- 5. change the catalog: table main.t (no key) with its journal main.t_journal
-- 6. append to main.t_journal
SELECT
  s."_palimpsest_n0" AS "k",
  s."_palimpsest_n1" AS "b",
  s."_palimpsest_n2" AS "_row_id",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "version_number",
  CAST(NULL AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM changed AS s;
