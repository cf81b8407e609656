-- A sum over an inner join multiplies the weights of both sides.
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR);
INSERT INTO main.t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, 30, 'x'), (4, NULL, 'z');
UPDATE main.t SET a = 31 WHERE k = 3;
DELETE FROM main.t WHERE k = 4;
CREATE TABLE main.u (k INTEGER PRIMARY KEY, t INTEGER, n INTEGER);
INSERT INTO main.u VALUES (1, 1, 100), (2, 1, 200), (3, 9, 300);
-- statement
SELECT sum(u.n) AS s FROM main.t AS t JOIN main.u AS u ON u.t = t.k;
-- plan: embedded
-- 1. result
SELECT CASE WHEN SUM(p."_palimpsest_n0") > 0 THEN SUM(p."_palimpsest_s0") END AS "s"
FROM (
  SELECT
    CASE WHEN w."_palimpsest_sign" < 0 THEN -w."_palimpsest_n0" ELSE w."_palimpsest_n0"
    END AS _palimpsest_n0,
    CASE WHEN w."_palimpsest_sign" < 0 THEN -w."_palimpsest_s0" ELSE w."_palimpsest_s0"
    END AS _palimpsest_s0,
    CASE WHEN w."_palimpsest_sign" < 0 THEN -w."_palimpsest_rows" ELSE w."_palimpsest_rows"
    END AS _palimpsest_rows
  FROM (
    SELECT COUNT(u.n) AS _palimpsest_n0, SUM(u.n) AS _palimpsest_s0, COUNT(*) AS _palimpsest_rows, "_palimpsest_sign"
    FROM (
      SELECT "k", "a", "b", 1 AS "_palimpsest_sign"
      FROM _palimpsest.t1_base
      UNION ALL
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
    JOIN (
      SELECT o."k", o."t", o."n"
      FROM (
        SELECT "k", "t", "n", "version_number", "subsequent_version_number"
        FROM _palimpsest.t2_base
        UNION ALL
        SELECT "k", "t", "n", "version_number", "subsequent_version_number"
        FROM _palimpsest.t2_delta
        WHERE "subsequent_version_number" IS NULL
        UNION ALL
        SELECT "k", "t", "n", "version_number", "subsequent_version_number"
        FROM _palimpsest.t2_head
        WHERE "subsequent_version_number" IS NULL
      ) AS o
      ANTI JOIN (
        SELECT "k", "t", "n", "version_number", "subsequent_version_number"
        FROM _palimpsest.t2_delta
        UNION ALL
        SELECT "k", "t", "n", "version_number", "subsequent_version_number"
        FROM _palimpsest.t2_head
      ) AS c
        ON (c."k" = o."k" AND c."version_number" = o."version_number")
        AND c."subsequent_version_number" > c."version_number"
    ) AS u ON u.t = t.k
    GROUP BY "_palimpsest_sign"
  ) AS w
) AS "p";
