-- A condition on the key goes below the anti-join.
-- stores: embedded, postgresql
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR);
CREATE TABLE main.loose (a INTEGER);
INSERT INTO main.t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, 30, NULL);
INSERT INTO main.loose VALUES (1), (1), (2);
-- mark m
UPDATE main.t SET a = a + 1 WHERE k < 3;
DELETE FROM main.t WHERE k = 3;
DELETE FROM main.loose WHERE a = 2;
-- statement
SELECT b FROM main.t/*@m*/ WHERE k = 3;
-- plan: embedded
-- 1. result
SELECT b
FROM (
  SELECT o."k", o."a", o."b"
  FROM _palimpsest.t1_base AS o
  ANTI JOIN (
    SELECT "k", "version_number", "subsequent_version_number"
    FROM (
      SELECT "k", "a", "b", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_delta
      UNION ALL
      SELECT "k", "a", "b", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_head
    ) AS x
    WHERE
      "subsequent_version_number" > "version_number"
      AND "subsequent_version_number" <= MAKE_TIMESTAMPTZ($p_time_0)
  ) AS c
    ON (c."k" = o."k" AND c."version_number" = o."version_number")
    AND c."subsequent_version_number" > c."version_number"
  WHERE o."subsequent_version_number" IS NULL AND o."version_number" <= MAKE_TIMESTAMPTZ($p_time_0)
  UNION ALL
  SELECT o."k", o."a", o."b"
  FROM _palimpsest.t1_delta AS o
  ANTI JOIN (
    SELECT "k", "version_number", "subsequent_version_number"
    FROM (
      SELECT "k", "a", "b", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_delta
      UNION ALL
      SELECT "k", "a", "b", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_head
    ) AS x
    WHERE
      "subsequent_version_number" > "version_number"
      AND "subsequent_version_number" <= MAKE_TIMESTAMPTZ($p_time_0)
  ) AS c
    ON (c."k" = o."k" AND c."version_number" = o."version_number")
    AND c."subsequent_version_number" > c."version_number"
  WHERE o."subsequent_version_number" IS NULL AND o."version_number" <= MAKE_TIMESTAMPTZ($p_time_0)
  UNION ALL
  SELECT o."k", o."a", o."b"
  FROM _palimpsest.t1_head AS o
  ANTI JOIN (
    SELECT "k", "version_number", "subsequent_version_number"
    FROM (
      SELECT "k", "a", "b", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_delta
      UNION ALL
      SELECT "k", "a", "b", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_head
    ) AS x
    WHERE
      "subsequent_version_number" > "version_number"
      AND "subsequent_version_number" <= MAKE_TIMESTAMPTZ($p_time_0)
  ) AS c
    ON (c."k" = o."k" AND c."version_number" = o."version_number")
    AND c."subsequent_version_number" > c."version_number"
  WHERE o."subsequent_version_number" IS NULL AND o."version_number" <= MAKE_TIMESTAMPTZ($p_time_0)
) AS "t"
WHERE k = 3;
-- plan: postgresql
-- 1. result
SELECT "b"
FROM (
  SELECT "o"."k", "o"."a", "o"."b"
  FROM "_palimpsest"."t1_base" AS "o"
  WHERE
    (
      "o"."subsequent_version_number" IS NULL
      AND "o"."version_number" <= (CAST('1970-01-01 00:00:00+00' AS TIMESTAMPTZ) + ($1) * INTERVAL '1 MICROSECOND')
    )
    AND NOT EXISTS(
      SELECT 1
      FROM (
        SELECT "k", "version_number", "subsequent_version_number"
        FROM (
          SELECT "k", "a", "b", "version_number", "subsequent_version_number"
          FROM "_palimpsest"."t1_delta"
          UNION ALL
          SELECT "k", "a", "b", "version_number", "subsequent_version_number"
          FROM "_palimpsest"."t1_head"
        ) AS "x"
        WHERE
          "subsequent_version_number" > "version_number"
          AND "subsequent_version_number" <= (
            CAST('1970-01-01 00:00:00+00' AS TIMESTAMPTZ) + ($1) * INTERVAL '1 MICROSECOND'
          )
      ) AS "c"
      WHERE
        ("c"."k" = "o"."k" AND "c"."version_number" = "o"."version_number")
        AND (NOT "c"."subsequent_version_number" IS NULL OR "c"."subsequent_version_number" = "c"."version_number")
        AND "c"."subsequent_version_number" > "c"."version_number"
    )
  UNION ALL
  SELECT "o"."k", "o"."a", "o"."b"
  FROM "_palimpsest"."t1_delta" AS "o"
  WHERE
    (
      "o"."subsequent_version_number" IS NULL
      AND "o"."version_number" <= (CAST('1970-01-01 00:00:00+00' AS TIMESTAMPTZ) + ($1) * INTERVAL '1 MICROSECOND')
    )
    AND NOT EXISTS(
      SELECT 1
      FROM (
        SELECT "k", "version_number", "subsequent_version_number"
        FROM (
          SELECT "k", "a", "b", "version_number", "subsequent_version_number"
          FROM "_palimpsest"."t1_delta"
          UNION ALL
          SELECT "k", "a", "b", "version_number", "subsequent_version_number"
          FROM "_palimpsest"."t1_head"
        ) AS "x"
        WHERE
          "subsequent_version_number" > "version_number"
          AND "subsequent_version_number" <= (
            CAST('1970-01-01 00:00:00+00' AS TIMESTAMPTZ) + ($1) * INTERVAL '1 MICROSECOND'
          )
      ) AS "c"
      WHERE
        ("c"."k" = "o"."k" AND "c"."version_number" = "o"."version_number")
        AND (NOT "c"."subsequent_version_number" IS NULL OR "c"."subsequent_version_number" = "c"."version_number")
        AND "c"."subsequent_version_number" > "c"."version_number"
    )
  UNION ALL
  SELECT "o"."k", "o"."a", "o"."b"
  FROM "_palimpsest"."t1_head" AS "o"
  WHERE
    (
      "o"."subsequent_version_number" IS NULL
      AND "o"."version_number" <= (CAST('1970-01-01 00:00:00+00' AS TIMESTAMPTZ) + ($1) * INTERVAL '1 MICROSECOND')
    )
    AND NOT EXISTS(
      SELECT 1
      FROM (
        SELECT "k", "version_number", "subsequent_version_number"
        FROM (
          SELECT "k", "a", "b", "version_number", "subsequent_version_number"
          FROM "_palimpsest"."t1_delta"
          UNION ALL
          SELECT "k", "a", "b", "version_number", "subsequent_version_number"
          FROM "_palimpsest"."t1_head"
        ) AS "x"
        WHERE
          "subsequent_version_number" > "version_number"
          AND "subsequent_version_number" <= (
            CAST('1970-01-01 00:00:00+00' AS TIMESTAMPTZ) + ($1) * INTERVAL '1 MICROSECOND'
          )
      ) AS "c"
      WHERE
        ("c"."k" = "o"."k" AND "c"."version_number" = "o"."version_number")
        AND (NOT "c"."subsequent_version_number" IS NULL OR "c"."subsequent_version_number" = "c"."version_number")
        AND "c"."subsequent_version_number" > "c"."version_number"
    )
) AS "t"
WHERE "k" = 3;
