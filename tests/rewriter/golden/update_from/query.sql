-- The rows of a subquery give the values.
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR);
INSERT INTO main.t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, 30, 'x'), (4, NULL, 'z');
UPDATE main.t SET a = 31 WHERE k = 3;
DELETE FROM main.t WHERE k = 4;
CREATE TABLE main.u (k INTEGER PRIMARY KEY, t INTEGER, n INTEGER);
INSERT INTO main.u VALUES (1, 1, 100), (2, 1, 200), (3, 9, 300);
-- statement
UPDATE main.t SET a = q.s FROM (SELECT t, sum(n) AS s FROM main.u GROUP BY t) AS q WHERE q.t = t.k RETURNING t.k, t.a;
-- plan: embedded
-- 1. keep as "p_changed"
SELECT
  t."k" AS _palimpsest_o0,
  t."a" AS _palimpsest_o1,
  t."b" AS _palimpsest_o2,
  t."_palimpsest_version" AS _palimpsest_ov,
  CAST(q.s AS INT) AS _palimpsest_n1
FROM (
  SELECT p."_palimpsest_g0" AS "t", CASE WHEN SUM(p."_palimpsest_n0") > 0 THEN SUM(p."_palimpsest_s0") END AS "s"
  FROM (
    SELECT t AS _palimpsest_g0, COUNT(n) AS _palimpsest_n0, SUM(n) AS _palimpsest_s0, COUNT(*) AS _palimpsest_rows
    FROM (SELECT "k", "t", "n" FROM _palimpsest.t2_base) AS "u"
    GROUP BY t
    UNION ALL
    SELECT
      w."_palimpsest_g0",
      CASE WHEN w."_palimpsest_sign" < 0 THEN -w."_palimpsest_n0" ELSE w."_palimpsest_n0"
      END AS _palimpsest_n0,
      CASE WHEN w."_palimpsest_sign" < 0 THEN -w."_palimpsest_s0" ELSE w."_palimpsest_s0"
      END AS _palimpsest_s0,
      CASE WHEN w."_palimpsest_sign" < 0 THEN -w."_palimpsest_rows" ELSE w."_palimpsest_rows"
      END AS _palimpsest_rows
    FROM (
      SELECT
        t AS _palimpsest_g0,
        COUNT(n) AS _palimpsest_n0,
        SUM(n) AS _palimpsest_s0,
        COUNT(*) AS _palimpsest_rows,
        "_palimpsest_sign"
      FROM (
        SELECT "k", "t", "n", CASE WHEN "subsequent_version_number" IS NULL THEN 1 ELSE -1 END AS "_palimpsest_sign"
        FROM (
          SELECT "k", "t", "n", "version_number", "subsequent_version_number"
          FROM _palimpsest.t2_delta
          UNION ALL
          SELECT "k", "t", "n", "version_number", "subsequent_version_number"
          FROM _palimpsest.t2_head
        ) AS o
        WHERE "subsequent_version_number" IS NULL OR "subsequent_version_number" > "version_number"
      ) AS "u"
      GROUP BY t, "_palimpsest_sign"
    ) AS w
  ) AS "p"
  GROUP BY p."_palimpsest_g0"
  HAVING SUM(p."_palimpsest_rows") > 0
) AS q
CROSS JOIN (
  SELECT o."k", o."a", o."b", o."version_number" AS "_palimpsest_version"
  FROM (
    SELECT "k", "a", "b", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_base
    UNION ALL
    SELECT "k", "a", "b", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_delta
    WHERE "subsequent_version_number" IS NULL
    UNION ALL
    SELECT "k", "a", "b", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_head
    WHERE "subsequent_version_number" IS NULL
  ) AS o
  ANTI JOIN (
    SELECT "k", "a", "b", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_delta
    UNION ALL
    SELECT "k", "a", "b", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_head
  ) AS c
    ON (c."k" = o."k" AND c."version_number" = o."version_number")
    AND c."subsequent_version_number" > c."version_number"
) AS "t"
WHERE q.t = t.k
QUALIFY ROW_NUMBER() OVER (PARTITION BY t."k") = 1;
-- 2. result
SELECT t.k, t.a
FROM (
  SELECT s."_palimpsest_o0" AS "k", s."_palimpsest_n1" AS "a", s."_palimpsest_o2" AS "b"
  FROM p_changed AS s
) AS "t";
-- 3. append to main.t_journal
SELECT
  s."_palimpsest_o0" AS "k",
  s."_palimpsest_o1" AS "a",
  s."_palimpsest_o2" AS "b",
  s."_palimpsest_ov" AS "version_number",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed AS s
UNION ALL
SELECT
  s."_palimpsest_o0" AS "k",
  s."_palimpsest_n1" AS "a",
  s."_palimpsest_o2" AS "b",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "version_number",
  CAST(NULL AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed AS s;
