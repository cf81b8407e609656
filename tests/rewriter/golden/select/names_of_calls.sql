-- Calls without an alias keep the name that the store gives them.
-- stores: embedded
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR, f DOUBLE);
INSERT INTO main.t VALUES (1, 10, 'x', 0.5), (2, 20, 'y', 1.5), (3, 30, 'x', -0.0);
INSERT INTO main.t VALUES (4, NULL, 'z', 0.0), (5, 30, 'w', 2.5);
UPDATE main.t SET a = 31 WHERE k = 3;
DELETE FROM main.t WHERE k = 4;
UPDATE main.t SET b = 'v' WHERE k = 5;
-- statement
SELECT substring(b, 1, 1), sum(CASE WHEN a > 10 THEN a ELSE 0 END), sum(k::DECIMAL(10, 2)) FROM main.t GROUP BY 1;
-- plan: embedded
-- 1. result
SELECT
  p."_palimpsest_g0" AS """substring""(b, 1, 1)",
  CASE WHEN SUM(p."_palimpsest_n0") > 0 THEN SUM(p."_palimpsest_s0") END AS "sum(CASE  WHEN ((a > 10)) THEN (a) ELSE 0
    END)",
  CASE WHEN SUM(p."_palimpsest_n1") > 0 THEN SUM(p."_palimpsest_s1") END AS "sum(CAST(k AS DECIMAL(10, 2)))"
FROM (
  SELECT
    SUBSTRING(b, 1, 1) AS _palimpsest_g0,
    COUNT(CASE WHEN a > 10 THEN a ELSE 0 END) AS _palimpsest_n0,
    SUM(CASE WHEN a > 10 THEN a ELSE 0 END) AS _palimpsest_s0,
    COUNT(CAST(k AS DECIMAL(10, 2))) AS _palimpsest_n1,
    SUM(CAST(k AS DECIMAL(10, 2))) AS _palimpsest_s1,
    COUNT(*) AS _palimpsest_rows
  FROM (SELECT "k", "a", "b", "f" FROM _palimpsest.t1_base) AS "t"
  GROUP BY SUBSTRING(b, 1, 1)
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
      SUBSTRING(b, 1, 1) AS _palimpsest_g0,
      COUNT(CASE WHEN a > 10 THEN a ELSE 0 END) AS _palimpsest_n0,
      SUM(CASE WHEN a > 10 THEN a ELSE 0 END) AS _palimpsest_s0,
      COUNT(CAST(k AS DECIMAL(10, 2))) AS _palimpsest_n1,
      SUM(CAST(k AS DECIMAL(10, 2))) AS _palimpsest_s1,
      COUNT(*) AS _palimpsest_rows,
      "_palimpsest_sign"
    FROM (
      SELECT
        "k",
        "a",
        "b",
        "f",
        CASE WHEN "subsequent_version_number" IS NULL THEN 1 ELSE -1 END AS "_palimpsest_sign"
      FROM (
        SELECT "k", "a", "b", "f", "version_number", "subsequent_version_number"
        FROM _palimpsest.t1_delta
        UNION ALL
        SELECT "k", "a", "b", "f", "version_number", "subsequent_version_number"
        FROM _palimpsest.t1_head
      ) AS o
      WHERE "subsequent_version_number" IS NULL OR "subsequent_version_number" > "version_number"
    ) AS "t"
    GROUP BY SUBSTRING(b, 1, 1), "_palimpsest_sign"
  ) AS w
) AS "p"
GROUP BY p."_palimpsest_g0"
HAVING SUM(p."_palimpsest_rows") > 0;
