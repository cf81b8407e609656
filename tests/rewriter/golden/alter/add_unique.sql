-- Doubled values are looked for first.
-- run: no: DuckDB cannot add a constraint
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR DEFAULT 'none');
INSERT INTO main.t (k, a) VALUES (1, 1), (2, 2), (3, 3);
DELETE FROM main.t WHERE k = 3;
-- statement
ALTER TABLE main.t ADD CONSTRAINT one UNIQUE (a);
-- plan: embedded
-- 1. check: PAL-211 (42P16) if it returns a row:
SELECT 1 AS found
FROM (SELECT CAST(NULL AS INT) AS "k", CAST(NULL AS INT) AS "a", CAST(NULL AS TEXT) AS "b" WHERE FALSE) AS t
UNION ALL
SELECT 1 AS found
FROM (
  SELECT ANY_VALUE(CAST('none' AS TEXT)) AS found
  FROM (SELECT 1 AS one) AS d
  HAVING COUNT(*) < 0 AND NOT ANY_VALUE(CAST('none' AS TEXT)) IS NULL
) AS v;
-- 2. keep as "altered"
SELECT t."a" AS _palimpsest_n1, t."version_number" AS _palimpsest_ov
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
) AS t;
-- 3. check: PAL-301 (23505) if it returns a row: duplicate key (a) = (..) violates "one" of main.t
SELECT CONCAT_WS(', ', CAST("_palimpsest_n1" AS TEXT)) AS shown
FROM altered
WHERE NOT "_palimpsest_n1" IS NULL
GROUP BY "_palimpsest_n1"
HAVING COUNT(*) > 1
LIMIT 1;
-- 4. change the catalog: table main.t (key k) with its journal main.t_journal
