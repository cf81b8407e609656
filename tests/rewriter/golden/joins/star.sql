-- A table joined with two others: below a union the store plans it apart from the joins around it.
-- stores: embedded, postgresql
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, u INTEGER, w INTEGER);
INSERT INTO main.t VALUES (1, 1, 1), (2, 2, 1), (3, 1, 2);
UPDATE main.t SET w = 2 WHERE k = 2;
DELETE FROM main.t WHERE k = 3;
CREATE TABLE main.u (u INTEGER PRIMARY KEY, a INTEGER);
INSERT INTO main.u VALUES (1, 100), (2, 200);
CREATE TABLE main.w (w INTEGER PRIMARY KEY, b INTEGER);
INSERT INTO main.w VALUES (1, 1000), (2, 2000);
-- statement
SELECT t.k, a, b FROM main.t, main.u, main.w WHERE t.u = u.u AND t.w = w.w;
-- plan: embedded
-- 1. result
SELECT t.k, a, b
FROM (
  SELECT o."k", o."u", o."w"
  FROM (
    SELECT "k", "u", "w", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_base
    UNION ALL
    SELECT "k", "u", "w", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_delta
    WHERE "subsequent_version_number" IS NULL
    UNION ALL
    SELECT "k", "u", "w", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_head
    WHERE "subsequent_version_number" IS NULL
  ) AS o
  ANTI JOIN (
    SELECT "k", "u", "w", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_delta
    UNION ALL
    SELECT "k", "u", "w", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_head
  ) AS c
    ON (c."k" = o."k" AND c."version_number" = o."version_number")
    AND c."subsequent_version_number" > c."version_number"
  UNION ALL
  SELECT "k", "u", "w"
  FROM _palimpsest.t1_head
  WHERE "version_number" < MAKE_TIMESTAMPTZ(0)
) AS "t", (
  SELECT o."u", o."a"
  FROM (
    SELECT "u", "a", "version_number", "subsequent_version_number"
    FROM _palimpsest.t2_base
    UNION ALL
    SELECT "u", "a", "version_number", "subsequent_version_number"
    FROM _palimpsest.t2_delta
    WHERE "subsequent_version_number" IS NULL
    UNION ALL
    SELECT "u", "a", "version_number", "subsequent_version_number"
    FROM _palimpsest.t2_head
    WHERE "subsequent_version_number" IS NULL
  ) AS o
  ANTI JOIN (
    SELECT "u", "a", "version_number", "subsequent_version_number"
    FROM _palimpsest.t2_delta
    UNION ALL
    SELECT "u", "a", "version_number", "subsequent_version_number"
    FROM _palimpsest.t2_head
  ) AS c
    ON (c."u" = o."u" AND c."version_number" = o."version_number")
    AND c."subsequent_version_number" > c."version_number"
) AS "u", (
  SELECT o."w", o."b"
  FROM (
    SELECT "w", "b", "version_number", "subsequent_version_number"
    FROM _palimpsest.t3_base
    UNION ALL
    SELECT "w", "b", "version_number", "subsequent_version_number"
    FROM _palimpsest.t3_delta
    WHERE "subsequent_version_number" IS NULL
    UNION ALL
    SELECT "w", "b", "version_number", "subsequent_version_number"
    FROM _palimpsest.t3_head
    WHERE "subsequent_version_number" IS NULL
  ) AS o
  ANTI JOIN (
    SELECT "w", "b", "version_number", "subsequent_version_number"
    FROM _palimpsest.t3_delta
    UNION ALL
    SELECT "w", "b", "version_number", "subsequent_version_number"
    FROM _palimpsest.t3_head
  ) AS c
    ON (c."w" = o."w" AND c."version_number" = o."version_number")
    AND c."subsequent_version_number" > c."version_number"
) AS "w"
WHERE t.u = u.u AND t.w = w.w;
-- plan: postgresql
-- 1. result
SELECT "t"."k", "a", "b"
FROM (
  SELECT "o"."k", "o"."u", "o"."w"
  FROM (
    SELECT "k", "u", "w", "version_number", "subsequent_version_number"
    FROM "_palimpsest"."t1_base"
    UNION ALL
    SELECT "k", "u", "w", "version_number", "subsequent_version_number"
    FROM "_palimpsest"."t1_delta"
    UNION ALL
    SELECT "k", "u", "w", "version_number", "subsequent_version_number"
    FROM "_palimpsest"."t1_head"
  ) AS "o"
  WHERE
    "o"."subsequent_version_number" IS NULL
    AND NOT EXISTS(
      SELECT 1
      FROM (
        SELECT "k", "u", "w", "version_number", "subsequent_version_number"
        FROM "_palimpsest"."t1_delta"
        UNION ALL
        SELECT "k", "u", "w", "version_number", "subsequent_version_number"
        FROM "_palimpsest"."t1_head"
      ) AS "c"
      WHERE
        ("c"."k" = "o"."k" AND "c"."version_number" = "o"."version_number")
        AND (NOT "c"."subsequent_version_number" IS NULL OR "c"."subsequent_version_number" = "c"."version_number")
        AND "c"."subsequent_version_number" > "c"."version_number"
    )
) AS "t", (
  SELECT "o"."u", "o"."a"
  FROM (
    SELECT "u", "a", "version_number", "subsequent_version_number"
    FROM "_palimpsest"."t2_base"
    UNION ALL
    SELECT "u", "a", "version_number", "subsequent_version_number"
    FROM "_palimpsest"."t2_delta"
    UNION ALL
    SELECT "u", "a", "version_number", "subsequent_version_number"
    FROM "_palimpsest"."t2_head"
  ) AS "o"
  WHERE
    "o"."subsequent_version_number" IS NULL
    AND NOT EXISTS(
      SELECT 1
      FROM (
        SELECT "u", "a", "version_number", "subsequent_version_number"
        FROM "_palimpsest"."t2_delta"
        UNION ALL
        SELECT "u", "a", "version_number", "subsequent_version_number"
        FROM "_palimpsest"."t2_head"
      ) AS "c"
      WHERE
        ("c"."u" = "o"."u" AND "c"."version_number" = "o"."version_number")
        AND (NOT "c"."subsequent_version_number" IS NULL OR "c"."subsequent_version_number" = "c"."version_number")
        AND "c"."subsequent_version_number" > "c"."version_number"
    )
) AS "u", (
  SELECT "o"."w", "o"."b"
  FROM (
    SELECT "w", "b", "version_number", "subsequent_version_number"
    FROM "_palimpsest"."t3_base"
    UNION ALL
    SELECT "w", "b", "version_number", "subsequent_version_number"
    FROM "_palimpsest"."t3_delta"
    UNION ALL
    SELECT "w", "b", "version_number", "subsequent_version_number"
    FROM "_palimpsest"."t3_head"
  ) AS "o"
  WHERE
    "o"."subsequent_version_number" IS NULL
    AND NOT EXISTS(
      SELECT 1
      FROM (
        SELECT "w", "b", "version_number", "subsequent_version_number"
        FROM "_palimpsest"."t3_delta"
        UNION ALL
        SELECT "w", "b", "version_number", "subsequent_version_number"
        FROM "_palimpsest"."t3_head"
      ) AS "c"
      WHERE
        ("c"."w" = "o"."w" AND "c"."version_number" = "o"."version_number")
        AND (NOT "c"."subsequent_version_number" IS NULL OR "c"."subsequent_version_number" = "c"."version_number")
        AND "c"."subsequent_version_number" > "c"."version_number"
    )
) AS "w"
WHERE "t"."u" = "u"."u" AND "t"."w" = "w"."w";
