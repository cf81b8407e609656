-- Only rows whose reference changes are looked at.
-- setup
CREATE TABLE main.p (a INTEGER PRIMARY KEY, n VARCHAR);
CREATE TABLE main.c (k INTEGER PRIMARY KEY, x INTEGER REFERENCES main.p (a), v VARCHAR);
CREATE TABLE main.tree (id INTEGER PRIMARY KEY, up INTEGER REFERENCES main.tree (id));
INSERT INTO main.p VALUES (1, 'one'), (2, 'two'), (3, 'three');
INSERT INTO main.c VALUES (1, 1, 'a'), (2, NULL, 'b');
INSERT INTO main.tree VALUES (1, NULL);
-- statement
UPDATE main.c SET x = k WHERE v = 'b';
-- plan: embedded
-- 1. keep as "p_changed"
SELECT
  c."k" AS _palimpsest_o0,
  c."x" AS _palimpsest_o1,
  c."v" AS _palimpsest_o2,
  c."_palimpsest_version" AS _palimpsest_ov,
  CAST(k AS INT) AS _palimpsest_n1
FROM (
  SELECT o."k", o."x", o."v", o."version_number" AS "_palimpsest_version"
  FROM (
    SELECT "k", "x", "v", "version_number", "subsequent_version_number"
    FROM _palimpsest.t2_base
    UNION ALL
    SELECT "k", "x", "v", "version_number", "subsequent_version_number"
    FROM _palimpsest.t2_delta
    WHERE "subsequent_version_number" IS NULL
    UNION ALL
    SELECT "k", "x", "v", "version_number", "subsequent_version_number"
    FROM _palimpsest.t2_head
    WHERE "subsequent_version_number" IS NULL
  ) AS o
  ANTI JOIN (
    SELECT "k", "x", "v", "version_number", "subsequent_version_number"
    FROM _palimpsest.t2_delta
    UNION ALL
    SELECT "k", "x", "v", "version_number", "subsequent_version_number"
    FROM _palimpsest.t2_head
  ) AS c
    ON (c."k" = o."k" AND c."version_number" = o."version_number")
    AND c."subsequent_version_number" > c."version_number"
) AS "c"
WHERE v = 'b';
-- 2. check: PAL-307 (23503) if it returns a row: foreign key (x) = (..) violates "c_x_fkey" of main.c: main.p has no
-- such (a)
SELECT CONCAT_WS(', ', CAST(s."v0" AS TEXT)) AS shown
FROM (
  SELECT s."_palimpsest_n1" AS v0
  FROM p_changed AS s
  WHERE NOT s."_palimpsest_n1" IS NULL AND (s."_palimpsest_o1" IS DISTINCT FROM s."_palimpsest_n1")
) AS s
ANTI JOIN (
  SELECT o."a"
  FROM (
    SELECT "a", "n", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_base
    UNION ALL
    SELECT "a", "n", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_delta
    WHERE "subsequent_version_number" IS NULL
    UNION ALL
    SELECT "a", "n", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_head
    WHERE "subsequent_version_number" IS NULL
  ) AS o
  ANTI JOIN (
    SELECT "a", "n", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_delta
    UNION ALL
    SELECT "a", "n", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_head
  ) AS c
    ON (c."a" = o."a" AND c."version_number" = o."version_number")
    AND c."subsequent_version_number" > c."version_number"
) AS p ON p."a" = s."v0"
LIMIT 1;
-- 3. append to main.c_journal
SELECT
  s."_palimpsest_o0" AS "k",
  s."_palimpsest_o1" AS "x",
  s."_palimpsest_o2" AS "v",
  s."_palimpsest_ov" AS "version_number",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed AS s
UNION ALL
SELECT
  s."_palimpsest_o0" AS "k",
  s."_palimpsest_n1" AS "x",
  s."_palimpsest_o2" AS "v",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "version_number",
  CAST(NULL AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed AS s;
