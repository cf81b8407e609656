-- Who wrote each row.
-- run: no: a plain table has no past
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR);
CREATE TABLE main.loose (a INTEGER);
INSERT INTO main.t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, 30, NULL);
INSERT INTO main.loose VALUES (1), (1), (2);
-- mark m
UPDATE main.t SET a = a + 1 WHERE k < 3;
DELETE FROM main.t WHERE k = 3;
DELETE FROM main.loose WHERE a = 2;
-- statement
BLAME main.t WHERE k = 1;
-- plan: embedded
-- 1. result
SELECT *
FROM (
  SELECT
    b."k" AS "k",
    b."a" AS "a",
    b."b" AS "b",
    CASE WHEN w."first_version" <= EPOCH_US(b."_palimpsest_from") THEN w."version" ELSE EPOCH_US(b."_palimpsest_from")
    END AS "version",
    CASE WHEN w."first_version" <= EPOCH_US(b."_palimpsest_from") THEN w."committed_at" ELSE b."_palimpsest_from"
    END AS "committed_at",
    CASE WHEN w."first_version" <= EPOCH_US(b."_palimpsest_from") THEN w."user_name"
    END AS "user",
    CASE WHEN w."first_version" <= EPOCH_US(b."_palimpsest_from") THEN w."application"
    END AS "application",
    CASE WHEN w."first_version" <= EPOCH_US(b."_palimpsest_from") THEN w."statement_digest"
    END AS "statement_digest",
    CASE WHEN w."first_version" <= EPOCH_US(b."_palimpsest_from") THEN w."message" END AS "message"
  FROM (
    SELECT o."k", o."a", o."b", o."version_number" AS "_palimpsest_from"
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
  ) AS b
  ASOF LEFT JOIN _palimpsest.transactions AS w ON w."version" >= EPOCH_US(b."_palimpsest_from")
  ORDER BY b."k"
) AS t
WHERE k = 1;
