-- Grouping sets are made of the groups that have rows.
-- stores: embedded
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR, f DOUBLE);
INSERT INTO main.t VALUES (1, 10, 'x', 0.5), (2, 20, 'y', 1.5), (3, 30, 'x', -0.0);
INSERT INTO main.t VALUES (4, NULL, 'z', 0.0), (5, 30, 'w', 2.5);
UPDATE main.t SET a = 31 WHERE k = 3;
DELETE FROM main.t WHERE k = 4;
UPDATE main.t SET b = 'v' WHERE k = 5;
-- statement
SELECT b, a % 4 AS g, grouping(b) AS o, count(DISTINCT a) AS d, sum(a) AS s FROM main.t GROUP BY ROLLUP (b, a % 4);
-- plan: embedded
-- 1. result
SELECT
  p."_palimpsest_g0" AS "b",
  p."_palimpsest_g1" AS "g",
  GROUPING(p."_palimpsest_g0") AS "o",
  COUNT(DISTINCT p."_palimpsest_g2") AS "d",
  CASE WHEN SUM(p."_palimpsest_n0") > 0 THEN SUM(p."_palimpsest_s0") END AS "s"
FROM (
  SELECT
    p."_palimpsest_g0",
    p."_palimpsest_g1",
    p."_palimpsest_g2",
    SUM(p."_palimpsest_n0") AS _palimpsest_n0,
    SUM(p."_palimpsest_s0") AS _palimpsest_s0,
    SUM(p."_palimpsest_rows") AS _palimpsest_rows
  FROM (
    SELECT
      b AS _palimpsest_g0,
      a % 4 AS _palimpsest_g1,
      a AS _palimpsest_g2,
      COUNT(a) AS _palimpsest_n0,
      SUM(a) AS _palimpsest_s0,
      COUNT(*) AS _palimpsest_rows
    FROM (SELECT "k", "a", "b", "f" FROM _palimpsest.t1_base) AS "t"
    GROUP BY b, a % 4, a
    UNION ALL
    SELECT
      w."_palimpsest_g0",
      w."_palimpsest_g1",
      w."_palimpsest_g2",
      CASE WHEN w."_palimpsest_sign" < 0 THEN -w."_palimpsest_n0" ELSE w."_palimpsest_n0"
      END AS _palimpsest_n0,
      CASE WHEN w."_palimpsest_sign" < 0 THEN -w."_palimpsest_s0" ELSE w."_palimpsest_s0"
      END AS _palimpsest_s0,
      CASE WHEN w."_palimpsest_sign" < 0 THEN -w."_palimpsest_rows" ELSE w."_palimpsest_rows"
      END AS _palimpsest_rows
    FROM (
      SELECT
        b AS _palimpsest_g0,
        a % 4 AS _palimpsest_g1,
        a AS _palimpsest_g2,
        COUNT(a) AS _palimpsest_n0,
        SUM(a) AS _palimpsest_s0,
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
      GROUP BY b, a % 4, a, "_palimpsest_sign"
    ) AS w
  ) AS "p"
  GROUP BY p."_palimpsest_g0", p."_palimpsest_g1", p."_palimpsest_g2"
  HAVING SUM(p."_palimpsest_rows") > 0
) AS "p"
GROUP BY ROLLUP (p."_palimpsest_g0", p."_palimpsest_g1");
