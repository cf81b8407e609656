-- A generated column is computed with its row, and passed over by a list of values.
-- stores: embedded, postgresql
-- setup
CREATE TABLE main.goods (
  id INTEGER PRIMARY KEY, price INTEGER, pieces INTEGER, total INTEGER GENERATED ALWAYS AS (price * pieces)
);
INSERT INTO main.goods (id, price, pieces) VALUES (1, 2, 3), (2, 5, NULL);
-- statement
INSERT INTO main.goods VALUES (3, 4, 5);
-- plan: embedded, optimistic
-- 1. append to main.goods_journal
WITH p_changed AS MATERIALIZED (
  SELECT
    g."_palimpsest_n0" AS _palimpsest_n0,
    g."_palimpsest_n1" AS _palimpsest_n1,
    g."_palimpsest_n2" AS _palimpsest_n2,
    CAST((g."_palimpsest_n1" * g."_palimpsest_n2") AS INT) AS _palimpsest_n3
  FROM (
    SELECT
      r."_palimpsest_c0" AS _palimpsest_n0,
      r."_palimpsest_c1" AS _palimpsest_n1,
      r."_palimpsest_c2" AS _palimpsest_n2,
      CAST(NULL AS INT) AS _palimpsest_n3
    FROM (
      SELECT CAST(3 AS INT) AS _palimpsest_c0, CAST(4 AS INT) AS _palimpsest_c1, CAST(5 AS INT) AS _palimpsest_c2
    ) AS r
  ) AS g
)
SELECT
  s."_palimpsest_n0" AS "id",
  s."_palimpsest_n1" AS "price",
  s."_palimpsest_n2" AS "pieces",
  CAST((s."_palimpsest_n1" * s."_palimpsest_n2") AS INT) AS "total",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "version_number",
  CAST(NULL AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed AS s
WHERE
  CASE
    WHEN s."_palimpsest_n0" IS NULL
    THEN ERROR('_palimpsest refuses a row (0) [id] _palimpsest')
    WHEN EXISTS(
      SELECT 1 AS "taken"
      FROM (
        SELECT *
        FROM (
          SELECT "version_number", "subsequent_version_number"
          FROM _palimpsest.t1_base
          WHERE "id" = CAST(3 AS INT)
          UNION ALL
          SELECT "version_number", "subsequent_version_number"
          FROM _palimpsest.t1_delta
          WHERE "id" = CAST(3 AS INT)
          UNION ALL
          SELECT "version_number", "subsequent_version_number"
          FROM _palimpsest.t1_head
          WHERE "id" = CAST(3 AS INT)
        ) AS u
        ORDER BY COALESCE("subsequent_version_number", "version_number") DESC, "subsequent_version_number" NULLS FIRST
        LIMIT 1
      ) AS o
      WHERE o."subsequent_version_number" IS NULL
    )
    THEN ERROR(CONCAT('_palimpsest refuses a row (1) [', CAST(s."_palimpsest_n0" AS TEXT), '] _palimpsest'))
    ELSE TRUE
  END;
-- plan: embedded, after a failure
-- 1. keep as "p_changed"
SELECT
  g."_palimpsest_n0" AS _palimpsest_n0,
  g."_palimpsest_n1" AS _palimpsest_n1,
  g."_palimpsest_n2" AS _palimpsest_n2,
  CAST((g."_palimpsest_n1" * g."_palimpsest_n2") AS INT) AS _palimpsest_n3
FROM (
  SELECT
    r."_palimpsest_c0" AS _palimpsest_n0,
    r."_palimpsest_c1" AS _palimpsest_n1,
    r."_palimpsest_c2" AS _palimpsest_n2,
    CAST(NULL AS INT) AS _palimpsest_n3
  FROM (
    SELECT *
    FROM (VALUES
      (CAST(3 AS INT), CAST(4 AS INT), CAST(5 AS INT))) AS v(_palimpsest_c0, _palimpsest_c1, _palimpsest_c2)
  ) AS r
) AS g;
-- 2. check: PAL-302 (23502) if it returns a row: null in column ".." of main.goods, which is NOT NULL
SELECT CASE WHEN s."_palimpsest_n0" IS NULL THEN 'id' END AS found
FROM p_changed AS s
WHERE s."_palimpsest_n0" IS NULL
LIMIT 1;
-- 3. check: PAL-301 (23505) if it returns a row: duplicate key (id) = (..) violates "goods_pkey" of main.goods
SELECT shown
FROM (
  SELECT CONCAT_WS(', ', CAST(s."_palimpsest_n0" AS TEXT)) AS shown
  FROM p_changed AS s
  WHERE NOT s."_palimpsest_n0" IS NULL
  GROUP BY s."_palimpsest_n0"
  HAVING COUNT(*) > 1
  UNION ALL
  SELECT CONCAT_WS(', ', CAST(s."_palimpsest_n0" AS TEXT)) AS shown
  FROM p_changed AS s
  JOIN (
    SELECT o."id", o."price", o."pieces", o."total", o."version_number"
    FROM (
      SELECT "id", "price", "pieces", "total", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_base
      UNION ALL
      SELECT "id", "price", "pieces", "total", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_delta
      WHERE "subsequent_version_number" IS NULL
      UNION ALL
      SELECT "id", "price", "pieces", "total", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_head
      WHERE "subsequent_version_number" IS NULL
    ) AS o
    ANTI JOIN (
      SELECT "id", "price", "pieces", "total", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_delta
      UNION ALL
      SELECT "id", "price", "pieces", "total", "version_number", "subsequent_version_number"
      FROM _palimpsest.t1_head
    ) AS c
      ON (c."id" = o."id" AND c."version_number" = o."version_number")
      AND c."subsequent_version_number" > c."version_number"
  ) AS c ON c."id" = s."_palimpsest_n0"
  WHERE NOT s."_palimpsest_n0" IS NULL
) AS g
LIMIT 1;
-- 4. append to main.goods_journal
SELECT
  s."_palimpsest_n0" AS "id",
  s."_palimpsest_n1" AS "price",
  s."_palimpsest_n2" AS "pieces",
  CAST((s."_palimpsest_n1" * s."_palimpsest_n2") AS INT) AS "total",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "version_number",
  CAST(NULL AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed AS s;
-- plan: postgresql, optimistic
-- 1. append to main.goods_journal
WITH "p_changed" AS MATERIALIZED (
  SELECT
    "g"."_palimpsest_n0" AS "_palimpsest_n0",
    "g"."_palimpsest_n1" AS "_palimpsest_n1",
    "g"."_palimpsest_n2" AS "_palimpsest_n2",
    CAST(("g"."_palimpsest_n1" * "g"."_palimpsest_n2") AS INT) AS "_palimpsest_n3"
  FROM (
    SELECT
      "r"."_palimpsest_c0" AS "_palimpsest_n0",
      "r"."_palimpsest_c1" AS "_palimpsest_n1",
      "r"."_palimpsest_c2" AS "_palimpsest_n2",
      CAST(NULL AS INT) AS "_palimpsest_n3"
    FROM (
      SELECT
        CAST(3 AS INT) AS "_palimpsest_c0",
        CAST(4 AS INT) AS "_palimpsest_c1",
        CAST(5 AS INT) AS "_palimpsest_c2"
    ) AS "r"
  ) AS "g"
)
SELECT
  "s"."_palimpsest_n0" AS "id",
  "s"."_palimpsest_n1" AS "price",
  "s"."_palimpsest_n2" AS "pieces",
  CAST(("s"."_palimpsest_n1" * "s"."_palimpsest_n2") AS INT) AS "total",
  CAST((
    CAST('1970-01-01 00:00:00+00' AS TIMESTAMPTZ) + ($1) * INTERVAL '1 MICROSECOND'
  ) AS TIMESTAMPTZ) AS "version_number",
  CAST(NULL AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM "p_changed" AS "s"
WHERE
  CASE
    WHEN "s"."_palimpsest_n0" IS NULL
    THEN (_palimpsest.fail(('_palimpsest refuses a row (0) [id] _palimpsest')))
    WHEN EXISTS(
      SELECT 1 AS "taken"
      FROM (
        SELECT *
        FROM (
          SELECT "version_number", "subsequent_version_number"
          FROM "_palimpsest"."t1_base"
          WHERE "id" = CAST(3 AS INT)
          UNION ALL
          SELECT "version_number", "subsequent_version_number"
          FROM "_palimpsest"."t1_delta"
          WHERE "id" = CAST(3 AS INT)
          UNION ALL
          SELECT "version_number", "subsequent_version_number"
          FROM "_palimpsest"."t1_head"
          WHERE "id" = CAST(3 AS INT)
        ) AS "u"
        ORDER BY
          COALESCE("subsequent_version_number", "version_number") DESC NULLS LAST,
          "subsequent_version_number" NULLS FIRST
        LIMIT 1
      ) AS "o"
      WHERE "o"."subsequent_version_number" IS NULL
    )
    THEN (
      _palimpsest.fail(
        (CONCAT('_palimpsest refuses a row (1) [', CAST("s"."_palimpsest_n0" AS TEXT), '] _palimpsest'))
      )
    )
    ELSE TRUE
  END;
