-- Values become columns; a store without PIVOT gets aggregates with conditions.
-- stores: embedded, postgresql
-- setup
CREATE TABLE main.sales (year INTEGER, city VARCHAR, amount INTEGER);
INSERT INTO main.sales VALUES (2000, 'A', 1), (2010, 'A', 2), (2000, 'B', 3);
-- statement
PIVOT main.sales ON year IN (2000, 2010) USING sum(amount) GROUP BY city;
-- plan: embedded
-- 1. keep as "pivoted"
SELECT *
FROM (
  SELECT o."year", o."city", o."amount"
  FROM (
    SELECT "year", "city", "amount", "_row_id", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_base
    UNION ALL
    SELECT "year", "city", "amount", "_row_id", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_delta
    WHERE "subsequent_version_number" IS NULL
    UNION ALL
    SELECT "year", "city", "amount", "_row_id", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_head
    WHERE "subsequent_version_number" IS NULL
  ) AS o
  ANTI JOIN (
    SELECT "year", "city", "amount", "_row_id", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_delta
    UNION ALL
    SELECT "year", "city", "amount", "_row_id", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_head
  ) AS c
    ON (c."_row_id" = o."_row_id" AND c."version_number" = o."version_number")
    AND c."subsequent_version_number" > c."version_number"
) AS "sales";
-- 2. result
PIVOT pivoted
ON year IN (2000, 2010)
USING SUM(amount)
GROUP BY city;
-- plan: postgresql
-- 1. keep as "pivoted"
SELECT *
FROM (
  SELECT "o"."year", "o"."city", "o"."amount"
  FROM (
    SELECT "year", "city", "amount", "_row_id", "version_number", "subsequent_version_number"
    FROM "_palimpsest"."t1_base"
    UNION ALL
    SELECT "year", "city", "amount", "_row_id", "version_number", "subsequent_version_number"
    FROM "_palimpsest"."t1_delta"
    UNION ALL
    SELECT "year", "city", "amount", "_row_id", "version_number", "subsequent_version_number"
    FROM "_palimpsest"."t1_head"
  ) AS "o"
  WHERE
    "o"."subsequent_version_number" IS NULL
    AND NOT EXISTS(
      SELECT 1
      FROM (
        SELECT "year", "city", "amount", "_row_id", "version_number", "subsequent_version_number"
        FROM "_palimpsest"."t1_delta"
        UNION ALL
        SELECT "year", "city", "amount", "_row_id", "version_number", "subsequent_version_number"
        FROM "_palimpsest"."t1_head"
      ) AS "c"
      WHERE
        ("c"."_row_id" = "o"."_row_id" AND "c"."version_number" = "o"."version_number")
        AND (NOT "c"."subsequent_version_number" IS NULL OR "c"."subsequent_version_number" = "c"."version_number")
        AND "c"."subsequent_version_number" > "c"."version_number"
    )
) AS "sales";
-- 2. result
SELECT
  "city",
  SUM("amount") FILTER(WHERE "year" = 2000) AS "2000",
  SUM("amount") FILTER(WHERE "year" = 2010) AS "2010"
FROM "pivoted"
GROUP BY "city";
