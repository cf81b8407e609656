-- A table that has only a head has no base to read.
-- tiers: head
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR);
INSERT INTO main.t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, 30, 'x'), (4, NULL, 'z');
UPDATE main.t SET a = 31 WHERE k = 3;
DELETE FROM main.t WHERE k = 4;
-- statement
SELECT * FROM main.t;
-- plan: embedded
-- 1. result
SELECT *
FROM (
  SELECT o."k", o."a", o."b"
  FROM _palimpsest.t1_head AS o
  ANTI JOIN _palimpsest.t1_head AS c
    ON (c."k" = o."k" AND c."version_number" = o."version_number")
    AND c."subsequent_version_number" > c."version_number"
  WHERE o."subsequent_version_number" IS NULL
) AS "t";
