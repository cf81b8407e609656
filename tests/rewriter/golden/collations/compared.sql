-- A column is read with its collation; a key that has one is not looked up by its bytes.
-- setup
CREATE TABLE main.t (k VARCHAR COLLATE NOCASE PRIMARY KEY, a INTEGER);
INSERT INTO main.t VALUES ('a', 1), ('A', 2), ('b', 3);
-- statement
SELECT a FROM main.t WHERE k = 'A';
-- plan: embedded
-- 1. result
SELECT a
FROM (
  SELECT o."k" COLLATE "NOCASE" AS "k", o."a"
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
WHERE k = 'A';
