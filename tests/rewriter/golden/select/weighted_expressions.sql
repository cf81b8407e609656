-- Groups and aggregates of expressions without aliases keep the names that DuckDB gives them.
-- stores: embedded
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR);
INSERT INTO main.t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, 30, 'x'), (4, NULL, 'z');
UPDATE main.t SET a = 31 WHERE k = 3;
DELETE FROM main.t WHERE k = 4;
-- statement
SELECT a % 2, sum(coalesce(a, 1)), round(avg(abs(a)), 1) FROM main.t GROUP BY a % 2;
-- plan: embedded
-- 1. result
SELECT
  p."_palimpsest_g0" AS "(a % 2)",
  CASE WHEN SUM(p."_palimpsest_n0") > 0 THEN SUM(p."_palimpsest_s0") END AS "sum(COALESCE(a, 1))",
  ROUND(
    CASE WHEN SUM(p."_palimpsest_n1") > 0 THEN CAST(SUM(p."_palimpsest_s1") AS DOUBLE) / SUM(p."_palimpsest_n1")
    END,
    1
  ) AS "round(avg(abs(a)), 1)"
FROM (
  SELECT
    a % 2 AS _palimpsest_g0,
    COUNT(COALESCE(a, 1)) AS _palimpsest_n0,
    SUM(COALESCE(a, 1)) AS _palimpsest_s0,
    COUNT(ABS(a)) AS _palimpsest_n1,
    SUM(ABS(a)) AS _palimpsest_s1,
    COUNT(*) AS _palimpsest_rows
  FROM (SELECT "k", "a", "b" FROM _palimpsest.t1_base) AS "t"
  GROUP BY a % 2
  UNION ALL
  SELECT
    w."_palimpsest_g0",
    CASE WHEN w."_palimpsest_sign" < 0 THEN -w."_palimpsest_n0" ELSE w."_palimpsest_n0"
    END AS _palimpsest_n0,
    CASE WHEN w."_palimpsest_sign" < 0 THEN -w."_palimpsest_s0" ELSE w."_palimpsest_s0"
    END AS _palimpsest_s0,
    CASE WHEN w."_palimpsest_sign" < 0 THEN -w."_palimpsest_n1" ELSE w."_palimpsest_n1"
    END AS _palimpsest_n1,
    CASE WHEN w."_palimpsest_sign" < 0 THEN -w."_palimpsest_s1" ELSE w."_palimpsest_s1"
    END AS _palimpsest_s1,
    CASE WHEN w."_palimpsest_sign" < 0 THEN -w."_palimpsest_rows" ELSE w."_palimpsest_rows"
    END AS _palimpsest_rows
  FROM (
    SELECT
      a % 2 AS _palimpsest_g0,
      COUNT(COALESCE(a, 1)) AS _palimpsest_n0,
      SUM(COALESCE(a, 1)) AS _palimpsest_s0,
      COUNT(ABS(a)) AS _palimpsest_n1,
      SUM(ABS(a)) AS _palimpsest_s1,
      COUNT(*) AS _palimpsest_rows,
      "_palimpsest_sign"
    FROM (
      SELECT "k", "a", "b", CASE WHEN "subsequent_version_number" IS NULL THEN 1 ELSE -1 END AS "_palimpsest_sign"
      FROM (
        SELECT "k", "a", "b", "version_number", "subsequent_version_number"
        FROM _palimpsest.t1_delta
        UNION ALL
        SELECT "k", "a", "b", "version_number", "subsequent_version_number"
        FROM _palimpsest.t1_head
      ) AS o
      WHERE "subsequent_version_number" IS NULL OR "subsequent_version_number" > "version_number"
    ) AS "t"
    GROUP BY a % 2, "_palimpsest_sign"
  ) AS w
) AS "p"
GROUP BY p."_palimpsest_g0"
HAVING SUM(p."_palimpsest_rows") > 0;
