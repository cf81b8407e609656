-- What changed between two versions.
-- run: no: a plain table has no past
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
SELECT * FROM table_changes('main.t', 1000, 2000);
-- plan: embedded
-- 1. result
SELECT *
FROM (
  SELECT
    e."k" AS "k",
    e."a" AS "a",
    e."b" AS "b",
    CASE
      WHEN e."_edge" = 'begin' AND e."_pair" > 1
      THEN 'update_postimage'
      WHEN e."_edge" = 'begin'
      THEN 'insert'
      WHEN e."_pair" > 1
      THEN 'update_preimage'
      ELSE 'delete'
    END AS "_change_type",
    w."version" AS "_version",
    w."committed_at" AS "_committed_at"
  FROM (
    SELECT *, COUNT(*) OVER (PARTITION BY e."k", e."_at") AS _pair
    FROM (
      SELECT i."k", i."a", i."b", i."_palimpsest_from" AS _at, 'begin' AS _edge
      FROM (
        SELECT
          "k",
          "a",
          "b",
          "version_number" AS "_palimpsest_from",
          "subsequent_version_number" AS "_palimpsest_until"
        FROM (
          SELECT *
          FROM (
            SELECT
              o."k",
              o."a",
              o."b",
              o."version_number",
              c."subsequent_version_number" AS "subsequent_version_number"
            FROM (
              SELECT *
              FROM (
                SELECT "k", "a", "b", "version_number", "subsequent_version_number"
                FROM _palimpsest.t1_base
                UNION ALL
                SELECT "k", "a", "b", "version_number", "subsequent_version_number"
                FROM _palimpsest.t1_delta
                UNION ALL
                SELECT "k", "a", "b", "version_number", "subsequent_version_number"
                FROM _palimpsest.t1_head
              ) AS x
              WHERE "subsequent_version_number" IS NULL
            ) AS o
            LEFT JOIN (
              SELECT "k", "version_number", "subsequent_version_number"
              FROM (
                SELECT "k", "a", "b", "version_number", "subsequent_version_number"
                FROM _palimpsest.t1_delta
                UNION ALL
                SELECT "k", "a", "b", "version_number", "subsequent_version_number"
                FROM _palimpsest.t1_head
              ) AS x
              WHERE "subsequent_version_number" > "version_number"
            ) AS c ON c."k" = o."k" AND c."version_number" = o."version_number"
          ) AS h
        ) AS o
      ) AS i
      WHERE
        i."_palimpsest_from" >= MAKE_TIMESTAMPTZ($p_time_0)
        AND i."_palimpsest_from" <= MAKE_TIMESTAMPTZ($p_time_1)
      UNION ALL
      SELECT i."k", i."a", i."b", i."_palimpsest_until" AS _at, 'end' AS _edge
      FROM (
        SELECT
          "k",
          "a",
          "b",
          "version_number" AS "_palimpsest_from",
          "subsequent_version_number" AS "_palimpsest_until"
        FROM (
          SELECT *
          FROM (
            SELECT
              o."k",
              o."a",
              o."b",
              o."version_number",
              c."subsequent_version_number" AS "subsequent_version_number"
            FROM (
              SELECT *
              FROM (
                SELECT "k", "a", "b", "version_number", "subsequent_version_number"
                FROM _palimpsest.t1_base
                UNION ALL
                SELECT "k", "a", "b", "version_number", "subsequent_version_number"
                FROM _palimpsest.t1_delta
                UNION ALL
                SELECT "k", "a", "b", "version_number", "subsequent_version_number"
                FROM _palimpsest.t1_head
              ) AS x
              WHERE "subsequent_version_number" IS NULL
            ) AS o
            LEFT JOIN (
              SELECT "k", "version_number", "subsequent_version_number"
              FROM (
                SELECT "k", "a", "b", "version_number", "subsequent_version_number"
                FROM _palimpsest.t1_delta
                UNION ALL
                SELECT "k", "a", "b", "version_number", "subsequent_version_number"
                FROM _palimpsest.t1_head
              ) AS x
              WHERE "subsequent_version_number" > "version_number"
            ) AS c ON c."k" = o."k" AND c."version_number" = o."version_number"
          ) AS h
        ) AS o
      ) AS i
      WHERE
        i."_palimpsest_until" >= MAKE_TIMESTAMPTZ($p_time_0)
        AND i."_palimpsest_until" <= MAKE_TIMESTAMPTZ($p_time_1)
    ) AS e
  ) AS e
  ASOF LEFT JOIN _palimpsest.transactions AS w ON w."version" >= EPOCH_US(e."_at")
  ORDER BY e."_at", e."k", e."_edge" DESC
) AS "table_changes";
