-- What changed between two versions where nothing has ended.
-- stores: embedded, postgresql
-- tiers: base
-- run: no: a plain table has no past
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER);
-- statement
SELECT * FROM table_changes('main.t', 1000, 2000);
-- plan: embedded
-- 1. result
SELECT *
FROM (
  SELECT
    e."k" AS "k",
    e."a" AS "a",
    e."_kind" AS "_change_type",
    t."version" AS "_version",
    t."committed_at" AS "_committed_at"
  FROM (
    SELECT x.*, 1 AS _edge, 'insert' AS _kind
    FROM (
      SELECT i."k", i."a", i."_palimpsest_from" AS _at
      FROM (
        SELECT "k", "a", "version_number" AS "_palimpsest_from", "subsequent_version_number" AS "_palimpsest_until"
        FROM (
          SELECT *
          FROM (SELECT * FROM _palimpsest.t1_base AS x WHERE "subsequent_version_number" IS NULL) AS h
        ) AS o
      ) AS i
      WHERE
        i."_palimpsest_from" >= MAKE_TIMESTAMPTZ($p_time_0)
        AND i."_palimpsest_from" <= MAKE_TIMESTAMPTZ($p_time_1)
    ) AS x
  ) AS e
  LEFT JOIN (
    SELECT d."_at", w."version", w."committed_at"
    FROM (
      SELECT DISTINCT i."_palimpsest_from" AS _at
      FROM (
        SELECT "k", "a", "version_number" AS "_palimpsest_from", "subsequent_version_number" AS "_palimpsest_until"
        FROM (
          SELECT *
          FROM (SELECT * FROM _palimpsest.t1_base AS x WHERE "subsequent_version_number" IS NULL) AS h
        ) AS o
      ) AS i
      WHERE
        i."_palimpsest_from" >= MAKE_TIMESTAMPTZ($p_time_0)
        AND i."_palimpsest_from" <= MAKE_TIMESTAMPTZ($p_time_1)
    ) AS d
    ASOF LEFT JOIN _palimpsest.transactions AS w ON w."version" >= EPOCH_US(d."_at")
  ) AS t ON t."_at" = e."_at"
  ORDER BY e."_at", e."k", e."_edge"
) AS "table_changes";
-- plan: postgresql
-- 1. result
SELECT *
FROM (
  SELECT
    "e"."k" AS "k",
    "e"."a" AS "a",
    "e"."_kind" AS "_change_type",
    "t"."version" AS "_version",
    "t"."committed_at" AS "_committed_at"
  FROM (
    SELECT "x".*, 1 AS "_edge", 'insert' AS "_kind"
    FROM (
      SELECT "i"."k", "i"."a", "i"."_palimpsest_from" AS "_at"
      FROM (
        SELECT "k", "a", "version_number" AS "_palimpsest_from", "subsequent_version_number" AS "_palimpsest_until"
        FROM (
          SELECT *
          FROM (SELECT * FROM "_palimpsest"."t1_base" AS "x" WHERE "subsequent_version_number" IS NULL) AS "h"
        ) AS "o"
      ) AS "i"
      WHERE
        "i"."_palimpsest_from" >= (CAST('1970-01-01 00:00:00+00' AS TIMESTAMPTZ) + ($1) * INTERVAL '1 MICROSECOND')
        AND "i"."_palimpsest_from" <= (
          CAST('1970-01-01 00:00:00+00' AS TIMESTAMPTZ) + ($2) * INTERVAL '1 MICROSECOND'
        )
    ) AS "x"
  ) AS "e"
  LEFT JOIN (
    SELECT "d"."_at", "w"."version", "w"."committed_at"
    FROM (
      SELECT DISTINCT "i"."_palimpsest_from" AS "_at"
      FROM (
        SELECT "k", "a", "version_number" AS "_palimpsest_from", "subsequent_version_number" AS "_palimpsest_until"
        FROM (
          SELECT *
          FROM (SELECT * FROM "_palimpsest"."t1_base" AS "x" WHERE "subsequent_version_number" IS NULL) AS "h"
        ) AS "o"
      ) AS "i"
      WHERE
        "i"."_palimpsest_from" >= (CAST('1970-01-01 00:00:00+00' AS TIMESTAMPTZ) + ($1) * INTERVAL '1 MICROSECOND')
        AND "i"."_palimpsest_from" <= (
          CAST('1970-01-01 00:00:00+00' AS TIMESTAMPTZ) + ($2) * INTERVAL '1 MICROSECOND'
        )
    ) AS "d"
    LEFT JOIN LATERAL (
      SELECT *
      FROM "_palimpsest"."transactions" AS "w"
      WHERE "w"."version" >= (CAST(EXTRACT(EPOCH FROM ("d"."_at")) * 1000000 AS BIGINT))
      ORDER BY "w"."version" ASC
      LIMIT 1
    ) AS "w" ON TRUE
  ) AS "t" ON "t"."_at" = "e"."_at"
  ORDER BY "e"."_at", "e"."k", "e"."_edge"
) AS "table_changes";
