-- A generated column changes with those it is computed from.
-- setup
CREATE TABLE main.goods (
  id INTEGER PRIMARY KEY, price INTEGER, pieces INTEGER, total INTEGER GENERATED ALWAYS AS (price * pieces)
);
INSERT INTO main.goods (id, price, pieces) VALUES (1, 2, 3), (2, 5, NULL);
-- statement
UPDATE main.goods SET pieces = 10 WHERE id = 2;
-- plan: embedded
-- 1. append to main.goods_journal
WITH p_changed AS MATERIALIZED (
  SELECT
    goods."id" AS _palimpsest_o0,
    goods."price" AS _palimpsest_o1,
    goods."pieces" AS _palimpsest_o2,
    goods."total" AS _palimpsest_o3,
    goods."_palimpsest_version" AS _palimpsest_ov,
    CAST(10 AS INT) AS _palimpsest_n2
  FROM (
    SELECT "id", "price", "pieces", "total", "version_number" AS "_palimpsest_version"
    FROM (
      SELECT *
      FROM (
        SELECT "id", "price", "pieces", "total", "version_number", "subsequent_version_number"
        FROM _palimpsest.t1_base
        WHERE "id" = 2
        UNION ALL
        SELECT "id", "price", "pieces", "total", "version_number", "subsequent_version_number"
        FROM _palimpsest.t1_delta
        WHERE "id" = 2
        UNION ALL
        SELECT "id", "price", "pieces", "total", "version_number", "subsequent_version_number"
        FROM _palimpsest.t1_head
        WHERE "id" = 2
      ) AS u
      ORDER BY COALESCE("subsequent_version_number", "version_number") DESC, "subsequent_version_number" NULLS FIRST
      LIMIT 1
    ) AS o
    WHERE o."subsequent_version_number" IS NULL
  ) AS "goods"
  WHERE id = 2
)
SELECT
  s."_palimpsest_o0" AS "id",
  s."_palimpsest_o1" AS "price",
  s."_palimpsest_o2" AS "pieces",
  s."_palimpsest_o3" AS "total",
  s."_palimpsest_ov" AS "version_number",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed AS s
UNION ALL
SELECT
  s."_palimpsest_o0" AS "id",
  s."_palimpsest_o1" AS "price",
  s."_palimpsest_n2" AS "pieces",
  CAST((s."_palimpsest_o1" * s."_palimpsest_n2") AS INT) AS "total",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "version_number",
  CAST(NULL AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed AS s;
