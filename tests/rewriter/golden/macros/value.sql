-- A macro's body stands in the place of its call.
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER);
INSERT INTO main.t VALUES (1, 1);
CREATE MACRO main.plus(x, y := 1) AS x + y;
-- statement
SELECT plus(a) FROM main.t WHERE k = plus(0);
-- plan: embedded
-- 1. result
SELECT ((a) + (1)) AS "plus(a)"
FROM (
  SELECT o."k", o."a"
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
WHERE k = ((0) + (1));
