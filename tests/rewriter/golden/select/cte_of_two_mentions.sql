-- A CTE that is mentioned twice stays.
-- stores: embedded
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR, f DOUBLE);
INSERT INTO main.t VALUES (1, 10, 'x', 0.5), (2, 20, 'y', 1.5), (3, 30, 'x', -0.0);
INSERT INTO main.t VALUES (4, NULL, 'z', 0.0), (5, 30, 'w', 2.5);
UPDATE main.t SET a = 31 WHERE k = 3;
DELETE FROM main.t WHERE k = 4;
UPDATE main.t SET b = 'v' WHERE k = 5;
-- statement
WITH s AS (SELECT a, b FROM main.t) SELECT count(*) AS n FROM s WHERE a > (SELECT min(a) FROM s);
-- plan: embedded
-- 1. result
WITH s AS (
  SELECT a, b
  FROM (
    SELECT o."k", o."a", o."b", o."f"
    FROM (
      SELECT "k", "a", "b", "f", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_base
      UNION ALL
      SELECT "k", "a", "b", "f", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_delta
      WHERE "subsequent_version_number" IS NULL
      UNION ALL
      SELECT "k", "a", "b", "f", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_head
      WHERE "subsequent_version_number" IS NULL
    ) AS o
    ANTI JOIN (
      SELECT "k", "a", "b", "f", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_delta
      UNION ALL
      SELECT "k", "a", "b", "f", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_head
    ) AS c
      ON (c."k" = o."k" AND c."version_number" = o."version_number")
      AND c."subsequent_version_number" > c."version_number"
  ) AS "t"
)
SELECT COUNT(*) AS n
FROM s
WHERE a > (SELECT MIN(a) FROM s);
