-- Without a base, sums are of all rows, less what is not open: few rows, which PostgreSQL finds by an index.
-- stores: postgresql
-- tiers: head
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR);
INSERT INTO main.t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, 30, 'x'), (4, NULL, 'z');
UPDATE main.t SET a = 31 WHERE k = 3;
DELETE FROM main.t WHERE k = 4;
-- statement
SELECT b, sum(a) AS s FROM main.t GROUP BY b;
-- plan: postgresql
-- 1. result
SELECT "p"."_palimpsest_g0" AS "b", CASE WHEN SUM("p"."_palimpsest_n0") > 0 THEN SUM("p"."_palimpsest_s0") END AS "s"
FROM (
  SELECT
    "b" AS "_palimpsest_g0",
    COUNT("a") AS "_palimpsest_n0",
    SUM("a") AS "_palimpsest_s0",
    COUNT(*) AS "_palimpsest_rows"
  FROM (SELECT "k", "a", "b" FROM "_palimpsest"."t1_head" AS "o") AS "t"
  GROUP BY "b"
  UNION ALL
  SELECT
    "w"."_palimpsest_g0",
    CASE WHEN "w"."_palimpsest_closing" THEN -"w"."_palimpsest_n0" * 2 ELSE -"w"."_palimpsest_n0"
    END AS "_palimpsest_n0",
    CASE WHEN "w"."_palimpsest_closing" THEN -"w"."_palimpsest_s0" * 2 ELSE -"w"."_palimpsest_s0"
    END AS "_palimpsest_s0",
    CASE WHEN "w"."_palimpsest_closing" THEN -"w"."_palimpsest_rows" * 2 ELSE -"w"."_palimpsest_rows"
    END AS "_palimpsest_rows"
  FROM (
    SELECT
      "b" AS "_palimpsest_g0",
      COUNT("a") AS "_palimpsest_n0",
      SUM("a") AS "_palimpsest_s0",
      COUNT(*) AS "_palimpsest_rows",
      "_palimpsest_closing"
    FROM (
      SELECT "k", "a", "b", "subsequent_version_number" > "version_number" AS "_palimpsest_closing"
      FROM "_palimpsest"."t1_head" AS "o"
      WHERE NOT "subsequent_version_number" IS NULL
    ) AS "t"
    GROUP BY "b", "_palimpsest_closing"
  ) AS "w"
) AS "p"
GROUP BY "p"."_palimpsest_g0"
HAVING SUM("p"."_palimpsest_rows") > 0;
