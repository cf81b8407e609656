-- One row for each row version that was current in the span.
-- stores: embedded, postgresql
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
SELECT k, a FROM main.t FOR SYSTEM_TIME FROM '2026-01-01' TO '2026-05-01';
-- plan: embedded
-- 1. result
SELECT k, a
FROM (
  SELECT "k" AS "k", "a" AS "a", "b" AS "b"
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
  WHERE
    i."_palimpsest_from" < MAKE_TIMESTAMPTZ($p_time_1)
    AND (i."_palimpsest_until" IS NULL OR i."_palimpsest_until" > MAKE_TIMESTAMPTZ($p_time_0))
) AS "t";
-- plan: postgresql
-- 1. result
SELECT "k", "a"
FROM (
  SELECT "k" AS "k", "a" AS "a", "b" AS "b"
  FROM (
    SELECT "k", "a", "b", "version_number" AS "_palimpsest_from", "subsequent_version_number" AS "_palimpsest_until"
    FROM (
      SELECT *
      FROM (
        SELECT
          "o"."k",
          "o"."a",
          "o"."b",
          "o"."version_number",
          "c"."subsequent_version_number" AS "subsequent_version_number"
        FROM (
          SELECT *
          FROM (
            SELECT "k", "a", "b", "version_number", "subsequent_version_number"
            FROM "_palimpsest"."t1_base"
            UNION ALL
            SELECT "k", "a", "b", "version_number", "subsequent_version_number"
            FROM "_palimpsest"."t1_delta"
            UNION ALL
            SELECT "k", "a", "b", "version_number", "subsequent_version_number"
            FROM "_palimpsest"."t1_head"
          ) AS "x"
          WHERE "subsequent_version_number" IS NULL
        ) AS "o"
        LEFT JOIN (
          SELECT "k", "version_number", "subsequent_version_number"
          FROM (
            SELECT "k", "a", "b", "version_number", "subsequent_version_number"
            FROM "_palimpsest"."t1_delta"
            UNION ALL
            SELECT "k", "a", "b", "version_number", "subsequent_version_number"
            FROM "_palimpsest"."t1_head"
          ) AS "x"
          WHERE "subsequent_version_number" > "version_number"
        ) AS "c" ON "c"."k" = "o"."k" AND "c"."version_number" = "o"."version_number"
      ) AS "h"
    ) AS "o"
  ) AS "i"
  WHERE
    "i"."_palimpsest_from" < (CAST('1970-01-01 00:00:00+00' AS TIMESTAMPTZ) + ($1) * INTERVAL '1 MICROSECOND')
    AND (
      "i"."_palimpsest_until" IS NULL
      OR "i"."_palimpsest_until" > (CAST('1970-01-01 00:00:00+00' AS TIMESTAMPTZ) + ($2) * INTERVAL '1 MICROSECOND')
    )
) AS "t";
