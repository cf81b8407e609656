-- Every row version there is.
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
SELECT k, a, version_number FROM main.t FOR SYSTEM_TIME ALL;
-- plan: embedded
-- 1. result
SELECT k, a, version_number
FROM (
  SELECT
    "k" AS "k",
    "a" AS "a",
    "b" AS "b",
    i."_palimpsest_from" AS "version_number",
    i."_palimpsest_until" AS "subsequent_version_number"
  FROM (
    SELECT "k", "a", "b", "version_number" AS "_palimpsest_from", "subsequent_version_number" AS "_palimpsest_until"
    FROM (
      SELECT *
      FROM (
        SELECT o."k", o."a", o."b", o."version_number", c."subsequent_version_number" AS "subsequent_version_number"
        FROM (
          SELECT *
          FROM (
            SELECT "k", "a", "b", "version_number", "subsequent_version_number"
            FROM _palimpsest.t1_base
            UNION ALL
            SELECT "k", "a", "b", "version_number", "subsequent_version_number"
            FROM _palimpsest.t1_delta
            UNION ALL
            SELECT "k", "a", "b", "version_number", "subsequent_version_number"
            FROM _palimpsest.t1_head
          ) AS x
          WHERE "subsequent_version_number" IS NULL
        ) AS o
        LEFT JOIN (
          SELECT "k", "version_number", "subsequent_version_number"
          FROM (
            SELECT "k", "a", "b", "version_number", "subsequent_version_number"
            FROM _palimpsest.t1_delta
            UNION ALL
            SELECT "k", "a", "b", "version_number", "subsequent_version_number"
            FROM _palimpsest.t1_head
          ) AS x
          WHERE "subsequent_version_number" > "version_number"
        ) AS c ON c."k" = o."k" AND c."version_number" = o."version_number"
      ) AS h
    ) AS o
  ) AS i
) AS "t";
