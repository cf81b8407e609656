-- Rows that keep their place when others lack a match are linear, too.
-- stores: embedded
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR, f DOUBLE);
INSERT INTO main.t VALUES (1, 10, 'x', 0.5), (2, 20, 'y', 1.5), (3, 30, 'x', -0.0);
INSERT INTO main.t VALUES (4, NULL, 'z', 0.0), (5, 30, 'w', 2.5);
UPDATE main.t SET a = 31 WHERE k = 3;
DELETE FROM main.t WHERE k = 4;
UPDATE main.t SET b = 'v' WHERE k = 5;
CREATE TABLE main.u (b VARCHAR PRIMARY KEY, w INTEGER);
INSERT INTO main.u VALUES ('x', 1), ('v', 2);
-- statement
SELECT u.w, sum(t.a), count(u.w) AS n FROM main.t LEFT JOIN main.u ON u.b = t.b GROUP BY u.w;
-- plan: embedded
-- 1. result
SELECT
  p."_palimpsest_g0" AS "w",
  CASE WHEN SUM(p."_palimpsest_n0") > 0 THEN SUM(p."_palimpsest_s0") END AS "sum(t.a)",
  CAST(COALESCE(SUM(p."_palimpsest_n1"), 0) AS BIGINT) AS "n"
FROM (
  SELECT
    w."_palimpsest_g0",
    CASE WHEN w."_palimpsest_sign" < 0 THEN -w."_palimpsest_n0" ELSE w."_palimpsest_n0"
    END AS _palimpsest_n0,
    CASE WHEN w."_palimpsest_sign" < 0 THEN -w."_palimpsest_s0" ELSE w."_palimpsest_s0"
    END AS _palimpsest_s0,
    CASE WHEN w."_palimpsest_sign" < 0 THEN -w."_palimpsest_n1" ELSE w."_palimpsest_n1"
    END AS _palimpsest_n1,
    CASE WHEN w."_palimpsest_sign" < 0 THEN -w."_palimpsest_rows" ELSE w."_palimpsest_rows"
    END AS _palimpsest_rows
  FROM (
    SELECT
      u.w AS _palimpsest_g0,
      COUNT(t.a) AS _palimpsest_n0,
      SUM(t.a) AS _palimpsest_s0,
      COUNT(u.w) AS _palimpsest_n1,
      COUNT(*) AS _palimpsest_rows,
      "_palimpsest_sign"
    FROM (
      SELECT "k", "a", "b", "f", 1 AS "_palimpsest_sign"
      FROM _palimpsest.t1_base
      UNION ALL
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
    LEFT JOIN (
      SELECT o."b", o."w"
      FROM (
        SELECT "b", "w", "version_number", "subsequent_version_number"
        FROM _palimpsest.t2_base
        UNION ALL
        SELECT "b", "w", "version_number", "subsequent_version_number"
        FROM _palimpsest.t2_delta
        WHERE "subsequent_version_number" IS NULL
        UNION ALL
        SELECT "b", "w", "version_number", "subsequent_version_number"
        FROM _palimpsest.t2_head
        WHERE "subsequent_version_number" IS NULL
      ) AS o
      ANTI JOIN (
        SELECT "b", "w", "version_number", "subsequent_version_number"
        FROM _palimpsest.t2_delta
        UNION ALL
        SELECT "b", "w", "version_number", "subsequent_version_number"
        FROM _palimpsest.t2_head
      ) AS c
        ON (c."b" = o."b" AND c."version_number" = o."version_number")
        AND c."subsequent_version_number" > c."version_number"
    ) AS "u" ON u.b = t.b
    GROUP BY u.w, "_palimpsest_sign"
  ) AS w
) AS "p"
GROUP BY p."_palimpsest_g0"
HAVING SUM(p."_palimpsest_rows") > 0;
