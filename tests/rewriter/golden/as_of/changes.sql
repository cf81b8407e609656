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
  WITH _palimpsest_begun AS (
    SELECT i."k", i."a", i."b", i."_palimpsest_from" AS _at
    FROM (
      SELECT "k", "a", "b", "version_number" AS "_palimpsest_from", "subsequent_version_number" AS "_palimpsest_until"
      FROM (
        SELECT *
        FROM (
          SELECT o."k", o."a", o."b", o."version_number", c."subsequent_version_number" AS "subsequent_version_number"
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
    WHERE i."_palimpsest_from" >= MAKE_TIMESTAMPTZ($p_time_0) AND i."_palimpsest_from" <= MAKE_TIMESTAMPTZ($p_time_1)
  ), _palimpsest_ended AS (
    SELECT i."k", i."a", i."b", i."_palimpsest_until" AS _at
    FROM (
      SELECT "k", "a", "b", "version_number" AS "_palimpsest_from", "subsequent_version_number" AS "_palimpsest_until"
      FROM (
        SELECT *
        FROM (
          SELECT o."k", o."a", o."b", o."version_number", c."subsequent_version_number" AS "subsequent_version_number"
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
  ), _palimpsest_paired AS (
    SELECT DISTINCT b."k", b."_at"
    FROM _palimpsest_begun AS b
    JOIN _palimpsest_ended AS c ON b."k" = c."k" AND b."_at" = c."_at"
  )
  SELECT
    e."k" AS "k",
    e."a" AS "a",
    e."b" AS "b",
    e."_kind" AS "_change_type",
    t."version" AS "_version",
    t."committed_at" AS "_committed_at"
  FROM (
    SELECT x.*, 1 AS _edge, CASE WHEN p."_at" IS NULL THEN 'insert' ELSE 'update_postimage' END AS _kind
    FROM _palimpsest_begun AS x
    LEFT JOIN _palimpsest_paired AS p ON x."k" = p."k" AND x."_at" = p."_at"
    UNION ALL
    SELECT x.*, 0 AS _edge, CASE WHEN p."_at" IS NULL THEN 'delete' ELSE 'update_preimage' END AS _kind
    FROM _palimpsest_ended AS x
    LEFT JOIN _palimpsest_paired AS p ON x."k" = p."k" AND x."_at" = p."_at"
  ) AS e
  LEFT JOIN (
    SELECT d."_at", w."version", w."committed_at"
    FROM (SELECT x."_at" FROM _palimpsest_begun AS x UNION SELECT x."_at" FROM _palimpsest_ended AS x) AS d
    ASOF LEFT JOIN _palimpsest.transactions AS w ON w."version" >= EPOCH_US(d."_at")
  ) AS t ON t."_at" = e."_at"
  ORDER BY e."_at", e."k", e."_edge"
) AS "table_changes";
