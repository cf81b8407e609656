-- Who last changed each column of each row, of a table without a key.
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
BLAME main.loose COLUMNS;
-- plan: embedded
-- 1. result
SELECT *
FROM (
  SELECT
    b."_row_id" AS "row_id",
    b."_palimpsest_name" AS "column_name",
    b."_palimpsest_value" AS "value",
    CASE WHEN b."_palimpsest_set" = b."_palimpsest_begun" THEN 'insert' ELSE 'update'
    END AS "change",
    CASE WHEN w."first_version" <= EPOCH_US(b."_palimpsest_set") THEN w."version" ELSE EPOCH_US(b."_palimpsest_set")
    END AS "version",
    CASE WHEN w."first_version" <= EPOCH_US(b."_palimpsest_set") THEN w."committed_at" ELSE b."_palimpsest_set"
    END AS "committed_at",
    CASE WHEN w."first_version" <= EPOCH_US(b."_palimpsest_set") THEN w."user_name" END AS "user",
    CASE WHEN w."first_version" <= EPOCH_US(b."_palimpsest_set") THEN w."application"
    END AS "application",
    CASE WHEN w."first_version" <= EPOCH_US(b."_palimpsest_set") THEN w."statement_digest"
    END AS "statement_digest",
    CASE WHEN w."first_version" <= EPOCH_US(b."_palimpsest_set") THEN w."message" END AS "message"
  FROM (
    SELECT
      s."_row_id",
      s."_palimpsest_begun",
      n."_palimpsest_place",
      CASE n."_palimpsest_place" WHEN 0 THEN 'a' END AS _palimpsest_name,
      CASE n."_palimpsest_place" WHEN 0 THEN CAST(s."a" AS TEXT) END AS _palimpsest_value,
      CASE n."_palimpsest_place" WHEN 0 THEN s."_palimpsest_set0" END AS _palimpsest_set
    FROM (
      SELECT
        p."a",
        p."_palimpsest_until",
        p."_row_id",
        MAX(
          CASE WHEN p."_palimpsest_before" IS DISTINCT FROM p."_palimpsest_from" THEN p."_palimpsest_from"
          END
        ) OVER (PARTITION BY p."_row_id") AS _palimpsest_begun,
        MAX(
          CASE
            WHEN p."_palimpsest_before" IS DISTINCT FROM p."_palimpsest_from"
            OR p."a" IS DISTINCT FROM p."_palimpsest_before0"
            THEN p."_palimpsest_from"
          END
        ) OVER (PARTITION BY p."_row_id") AS _palimpsest_set0
      FROM (
        SELECT
          v.*,
          LAG(v."_palimpsest_until") OVER (PARTITION BY v."_row_id" ORDER BY v."_palimpsest_from") AS
            _palimpsest_before,
          LAG(v."a") OVER (PARTITION BY v."_row_id" ORDER BY v."_palimpsest_from") AS _palimpsest_before0
        FROM (
          SELECT
            i."a" AS "a",
            i."_row_id" AS "_row_id",
            i."_palimpsest_from" AS "_palimpsest_from",
            i."_palimpsest_until" AS "_palimpsest_until"
          FROM (
            SELECT
              "a",
              "_row_id",
              "version_number" AS "_palimpsest_from",
              "subsequent_version_number" AS "_palimpsest_until"
            FROM (
              SELECT *
              FROM (
                SELECT
                  o."a",
                  o."_row_id",
                  o."version_number",
                  c."subsequent_version_number" AS "subsequent_version_number"
                FROM (
                  SELECT *
                  FROM (
                    SELECT "a", "_row_id", "version_number", "subsequent_version_number"
                    FROM _palimpsest.t2_base
                    UNION ALL
                    SELECT "a", "_row_id", "version_number", "subsequent_version_number"
                    FROM _palimpsest.t2_delta
                    UNION ALL
                    SELECT "a", "_row_id", "version_number", "subsequent_version_number"
                    FROM _palimpsest.t2_head
                  ) AS x
                  WHERE "subsequent_version_number" IS NULL
                ) AS o
                LEFT JOIN (
                  SELECT "_row_id", "version_number", "subsequent_version_number"
                  FROM (
                    SELECT "a", "_row_id", "version_number", "subsequent_version_number"
                    FROM _palimpsest.t2_delta
                    UNION ALL
                    SELECT "a", "_row_id", "version_number", "subsequent_version_number"
                    FROM _palimpsest.t2_head
                  ) AS x
                  WHERE "subsequent_version_number" > "version_number"
                ) AS c ON c."_row_id" = o."_row_id" AND c."version_number" = o."version_number"
              ) AS h
            ) AS o
          ) AS i
        ) AS v
      ) AS p
    ) AS s
    CROSS JOIN (VALUES (0)) AS n(_palimpsest_place)
    WHERE s."_palimpsest_until" IS NULL
  ) AS b
  ASOF LEFT JOIN _palimpsest.transactions AS w ON w."version" >= EPOCH_US(b."_palimpsest_set")
  ORDER BY b."_row_id", b."_palimpsest_place"
) AS loose;
