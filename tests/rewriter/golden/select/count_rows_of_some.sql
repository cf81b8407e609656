-- A condition takes the rows: they are counted with their signs.
-- stores: embedded
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR, f DOUBLE);
INSERT INTO main.t VALUES (1, 10, 'x', 0.5), (2, 20, 'y', 1.5), (3, 30, 'x', -0.0);
INSERT INTO main.t VALUES (4, NULL, 'z', 0.0), (5, 30, 'w', 2.5);
UPDATE main.t SET a = 31 WHERE k = 3;
DELETE FROM main.t WHERE k = 4;
UPDATE main.t SET b = 'v' WHERE k = 5;
-- statement
SELECT count(*) AS n FROM main.t WHERE a > 10;
-- plan: embedded
-- 1. result
SELECT CAST(COALESCE(SUM(p."_palimpsest_n0"), 0) AS BIGINT) AS "n"
FROM (
  SELECT COUNT(*) AS _palimpsest_n0, COUNT(*) AS _palimpsest_rows
  FROM (SELECT "k", "a", "b", "f" FROM _palimpsest.t1_base) AS "t"
  WHERE a > 10
  UNION ALL
  SELECT
    CASE WHEN w."_palimpsest_sign" < 0 THEN -w."_palimpsest_n0" ELSE w."_palimpsest_n0"
    END AS _palimpsest_n0,
    CASE WHEN w."_palimpsest_sign" < 0 THEN -w."_palimpsest_rows" ELSE w."_palimpsest_rows"
    END AS _palimpsest_rows
  FROM (
    SELECT COUNT(*) AS _palimpsest_n0, COUNT(*) AS _palimpsest_rows, "_palimpsest_sign"
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
    WHERE a > 10
    GROUP BY "_palimpsest_sign"
  ) AS w
) AS "p";
