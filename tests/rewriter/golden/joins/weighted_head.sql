-- Conditions of what is joined stand above the union, so that PostgreSQL hands keys of the join to its parts.
-- stores: postgresql
-- tiers: head
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER);
CREATE TABLE main.u (m INTEGER PRIMARY KEY, b VARCHAR);
INSERT INTO main.t VALUES (1, 10), (2, 20), (3, 30), (4, NULL);
INSERT INTO main.u VALUES (1, 'x'), (3, 'x'), (4, 'z');
UPDATE main.t SET a = 31 WHERE k = 3;
DELETE FROM main.t WHERE k = 4;
-- statement
SELECT b, sum(a) AS s FROM main.t JOIN main.u ON k = m GROUP BY b;
-- plan: postgresql
-- 1. result
SELECT "p"."_palimpsest_g0" AS "b", CASE WHEN SUM("p"."_palimpsest_n0") > 0 THEN SUM("p"."_palimpsest_s0") END AS "s"
FROM (
  SELECT
    "w"."_palimpsest_g0",
    CASE
      WHEN "w"."_palimpsest_whole"
      THEN "w"."_palimpsest_n0"
      WHEN "w"."_palimpsest_closing"
      THEN -"w"."_palimpsest_n0" * 2
      ELSE -"w"."_palimpsest_n0"
    END AS "_palimpsest_n0",
    CASE
      WHEN "w"."_palimpsest_whole"
      THEN "w"."_palimpsest_s0"
      WHEN "w"."_palimpsest_closing"
      THEN -"w"."_palimpsest_s0" * 2
      ELSE -"w"."_palimpsest_s0"
    END AS "_palimpsest_s0",
    CASE
      WHEN "w"."_palimpsest_whole"
      THEN "w"."_palimpsest_rows"
      WHEN "w"."_palimpsest_closing"
      THEN -"w"."_palimpsest_rows" * 2
      ELSE -"w"."_palimpsest_rows"
    END AS "_palimpsest_rows"
  FROM (
    SELECT
      "b" AS "_palimpsest_g0",
      COUNT("a") AS "_palimpsest_n0",
      SUM("a") AS "_palimpsest_s0",
      COUNT(*) AS "_palimpsest_rows",
      "_palimpsest_whole",
      "_palimpsest_closing"
    FROM (
      SELECT "k", "a", "_palimpsest_whole", "_palimpsest_closing"
      FROM (
        SELECT
          "k",
          "a",
          "version_number",
          "subsequent_version_number",
          TRUE AS "_palimpsest_whole",
          FALSE AS "_palimpsest_closing"
        FROM "_palimpsest"."t1_head"
        UNION ALL
        SELECT
          "k",
          "a",
          "version_number",
          "subsequent_version_number",
          FALSE AS "_palimpsest_whole",
          "subsequent_version_number" > "version_number" AS "_palimpsest_closing"
        FROM "_palimpsest"."t1_head"
      ) AS "o"
      WHERE "_palimpsest_whole" OR NOT "subsequent_version_number" IS NULL
    ) AS "t"
    JOIN (
      SELECT "o"."m", "o"."b"
      FROM "_palimpsest"."t2_head" AS "o"
      WHERE
        "o"."subsequent_version_number" IS NULL
        AND NOT EXISTS(
          SELECT 1
          FROM "_palimpsest"."t2_head" AS "c"
          WHERE
            ("c"."m" = "o"."m" AND "c"."version_number" = "o"."version_number")
            AND (
              NOT "c"."subsequent_version_number" IS NULL
              OR "c"."subsequent_version_number" = "c"."version_number"
            )
            AND "c"."subsequent_version_number" > "c"."version_number"
        )
    ) AS "u" ON "k" = "m"
    GROUP BY "b", "_palimpsest_whole", "_palimpsest_closing"
  ) AS "w"
) AS "p"
GROUP BY "p"."_palimpsest_g0"
HAVING SUM("p"."_palimpsest_rows") > 0;
