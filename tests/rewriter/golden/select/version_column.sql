-- A query may name the version of a row; a star does not show it.
-- run: no: a plain table has no versions
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR);
INSERT INTO main.t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, 30, 'x'), (4, NULL, 'z');
UPDATE main.t SET a = 31 WHERE k = 3;
DELETE FROM main.t WHERE k = 4;
-- statement
SELECT k FROM main.t WHERE version_number IS NOT NULL;
-- plan: embedded
-- 1. result
SELECT k
FROM (
  SELECT o."k", o."a", o."b", o."version_number", CAST(NULL AS TIMESTAMPTZ) AS "subsequent_version_number"
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
WHERE NOT version_number IS NULL;
