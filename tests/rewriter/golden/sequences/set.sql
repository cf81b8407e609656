-- The values are kept, the sequence goes on with them, and they are shown.
-- run: no: numbers are counted by a session
-- setup
CREATE SEQUENCE main.s;
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER);
-- statement
SELECT setval('s', max(k), true) FROM main.t;
-- plan: embedded
-- 1. keep as "p_rows_1"
SELECT "c0", "d0", "d1"
FROM (
  SELECT 0 AS "setval('s', max(k), true)", CAST(MAX(k) AS BIGINT) AS d0, CAST(TRUE AS BOOLEAN) AS d1
  FROM (
    SELECT o."k", o."a"
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
  ) AS "t"
) AS q(c0, d0, d1);
-- 2. set main.s
SELECT "d0", "d1"
FROM p_rows_1;
-- 3. result
SELECT "d0" AS "setval('s', max(k), true)"
FROM p_rows_1;
