-- Parents that go must have no children left.
-- stores: embedded, postgresql
-- setup
CREATE TABLE main.p (a INTEGER PRIMARY KEY, n VARCHAR);
CREATE TABLE main.c (k INTEGER PRIMARY KEY, x INTEGER REFERENCES main.p (a), v VARCHAR);
CREATE TABLE main.tree (id INTEGER PRIMARY KEY, up INTEGER REFERENCES main.tree (id));
INSERT INTO main.p VALUES (1, 'one'), (2, 'two'), (3, 'three');
INSERT INTO main.c VALUES (1, 1, 'a'), (2, NULL, 'b');
INSERT INTO main.tree VALUES (1, NULL);
-- statement
DELETE FROM main.p WHERE n <> 'one';
-- plan: embedded
-- 1. keep as "p_changed"
SELECT p."a" AS _palimpsest_o0, p."n" AS _palimpsest_o1, p."_palimpsest_version" AS _palimpsest_ov
FROM (
  SELECT o."a", o."n", o."version_number" AS "_palimpsest_version"
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
) AS "p"
WHERE n <> 'one';
-- 2. check: PAL-307 (23503) if it returns a row: key (a) = (..) of main.p cannot go: "c_x_fkey" of main.c refers to it
SELECT CONCAT_WS(', ', CAST(s."v0" AS TEXT)) AS shown
FROM (
  SELECT *
  FROM (SELECT s."_palimpsest_o0" AS v0 FROM p_changed AS s WHERE NOT s."_palimpsest_o0" IS NULL) AS s
) AS s
SEMI JOIN (
  SELECT c."x" AS v0
  FROM (
    SELECT o."x", o."k"
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
  ) AS c
) AS c ON c."v0" = s."v0"
LIMIT 1;
-- 3. append to main.p_journal
SELECT
  s."_palimpsest_o0" AS "a",
  s."_palimpsest_o1" AS "n",
  s."_palimpsest_ov" AS "version_number",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed AS s
UNION ALL
SELECT
  s."_palimpsest_o0" AS "a",
  s."_palimpsest_o1" AS "n",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "version_number",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed AS s;
-- plan: postgresql
-- 1. keep as "p_changed"
SELECT "p"."a" AS "_palimpsest_o0", "p"."n" AS "_palimpsest_o1", "p"."_palimpsest_version" AS "_palimpsest_ov"
FROM (
  SELECT "o"."a", "o"."n", "o"."version_number" AS "_palimpsest_version"
  FROM (
    SELECT "a", "n", "version_number", "subsequent_version_number"
    FROM "_palimpsest"."t1_base"
    UNION ALL
    SELECT "a", "n", "version_number", "subsequent_version_number"
    FROM "_palimpsest"."t1_delta"
    UNION ALL
    SELECT "a", "n", "version_number", "subsequent_version_number"
    FROM "_palimpsest"."t1_head"
  ) AS "o"
  WHERE
    "o"."subsequent_version_number" IS NULL
    AND NOT EXISTS(
      SELECT 1
      FROM (
        SELECT "a", "n", "version_number", "subsequent_version_number"
        FROM "_palimpsest"."t1_delta"
        UNION ALL
        SELECT "a", "n", "version_number", "subsequent_version_number"
        FROM "_palimpsest"."t1_head"
      ) AS "c"
      WHERE
        ("c"."a" = "o"."a" AND "c"."version_number" = "o"."version_number")
        AND (NOT "c"."subsequent_version_number" IS NULL OR "c"."subsequent_version_number" = "c"."version_number")
        AND "c"."subsequent_version_number" > "c"."version_number"
    )
) AS "p"
WHERE "n" <> 'one';
-- 2. check: PAL-307 (23503) if it returns a row: key (a) = (..) of main.p cannot go: "c_x_fkey" of main.c refers to it
SELECT CONCAT_WS(', ', CAST("s"."v0" AS TEXT)) AS "shown"
FROM (
  SELECT *
  FROM (SELECT "s"."_palimpsest_o0" AS "v0" FROM "p_changed" AS "s" WHERE NOT "s"."_palimpsest_o0" IS NULL) AS "s"
) AS "s"
WHERE
  EXISTS(
    SELECT 1
    FROM (
      SELECT "c"."x" AS "v0"
      FROM (
        SELECT "o"."x", "o"."k"
        FROM (
          SELECT "k", "x", "v", "version_number", "subsequent_version_number"
          FROM "_palimpsest"."t2_base"
          UNION ALL
          SELECT "k", "x", "v", "version_number", "subsequent_version_number"
          FROM "_palimpsest"."t2_delta"
          UNION ALL
          SELECT "k", "x", "v", "version_number", "subsequent_version_number"
          FROM "_palimpsest"."t2_head"
        ) AS "o"
        WHERE
          "o"."subsequent_version_number" IS NULL
          AND NOT EXISTS(
            SELECT 1
            FROM (
              SELECT "k", "x", "v", "version_number", "subsequent_version_number"
              FROM "_palimpsest"."t2_delta"
              UNION ALL
              SELECT "k", "x", "v", "version_number", "subsequent_version_number"
              FROM "_palimpsest"."t2_head"
            ) AS "c"
            WHERE
              ("c"."k" = "o"."k" AND "c"."version_number" = "o"."version_number")
              AND (
                NOT "c"."subsequent_version_number" IS NULL
                OR "c"."subsequent_version_number" = "c"."version_number"
              )
              AND "c"."subsequent_version_number" > "c"."version_number"
          )
      ) AS "c"
    ) AS "c"
    WHERE "c"."v0" = "s"."v0"
  )
LIMIT 1;
-- 3. append to main.p_journal
SELECT
  "s"."_palimpsest_o0" AS "a",
  "s"."_palimpsest_o1" AS "n",
  "s"."_palimpsest_ov" AS "version_number",
  CAST((
    CAST('1970-01-01 00:00:00+00' AS TIMESTAMPTZ) + ($1) * INTERVAL '1 MICROSECOND'
  ) AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM "p_changed" AS "s"
UNION ALL
SELECT
  "s"."_palimpsest_o0" AS "a",
  "s"."_palimpsest_o1" AS "n",
  CAST((
    CAST('1970-01-01 00:00:00+00' AS TIMESTAMPTZ) + ($1) * INTERVAL '1 MICROSECOND'
  ) AS TIMESTAMPTZ) AS "version_number",
  CAST((
    CAST('1970-01-01 00:00:00+00' AS TIMESTAMPTZ) + ($1) * INTERVAL '1 MICROSECOND'
  ) AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM "p_changed" AS "s";
