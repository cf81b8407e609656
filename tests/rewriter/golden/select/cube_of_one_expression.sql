-- Two columns of a subquery that are one expression stay two in grouping sets: it is not merged.
-- stores: embedded
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER);
INSERT INTO main.t VALUES (1, 10), (2, 20), (3, 30);
UPDATE main.t SET a = 31 WHERE k = 3;
-- statement
SELECT g, a, count(*) AS n FROM (SELECT *, a AS g FROM main.t) AS s GROUP BY CUBE (g, a);
-- plan: embedded
-- 1. result
SELECT g, a, COUNT(*) AS n
FROM (
  SELECT *, a AS g
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
) AS s
GROUP BY CUBE (g, a);
