-- What differs between two states.
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
SELECT * FROM table_diff('main.t', 1000, 2000);
-- plan: embedded
-- 1. result
SELECT *
FROM (
  SELECT
    d."k" AS "k",
    d."a" AS "a",
    d."b" AS "b",
    CASE
      WHEN d."_palimpsest_is_new" = 1 AND d."_palimpsest_rows" = 2
      THEN 'update_postimage'
      WHEN d."_palimpsest_is_new" = 1
      THEN 'insert'
      WHEN d."_palimpsest_rows" = 2
      THEN 'update_preimage'
      ELSE 'delete'
    END AS "_change_type",
    w."version" AS "_version",
    w."committed_at" AS "_committed_at"
  FROM (
    SELECT
      e.*,
      COUNT(*) OVER (PARTITION BY e."k") AS _palimpsest_rows,
      CASE
        WHEN e."_palimpsest_is_new" = 1
        THEN LAG(e."k") OVER (PARTITION BY e."k" ORDER BY e."_palimpsest_is_new")
        ELSE LEAD(e."k") OVER (PARTITION BY e."k" ORDER BY e."_palimpsest_is_new")
      END AS _palimpsest_other0,
      CASE
        WHEN e."_palimpsest_is_new" = 1
        THEN LAG(e."a") OVER (PARTITION BY e."k" ORDER BY e."_palimpsest_is_new")
        ELSE LEAD(e."a") OVER (PARTITION BY e."k" ORDER BY e."_palimpsest_is_new")
      END AS _palimpsest_other1,
      CASE
        WHEN e."_palimpsest_is_new" = 1
        THEN LAG(e."b") OVER (PARTITION BY e."k" ORDER BY e."_palimpsest_is_new")
        ELSE LEAD(e."b") OVER (PARTITION BY e."k" ORDER BY e."_palimpsest_is_new")
      END AS _palimpsest_other2
    FROM (
      SELECT
        v.*,
        CASE
          WHEN (
            v."_palimpsest_from" <= MAKE_TIMESTAMPTZ($p_time_1)
            AND (v."_palimpsest_until" IS NULL OR v."_palimpsest_until" > MAKE_TIMESTAMPTZ($p_time_1))
          )
          THEN 1
          ELSE 0
        END AS _palimpsest_is_new
      FROM (
        SELECT
          i."k" AS "k",
          i."a" AS "a",
          i."b" AS "b",
          i."_palimpsest_from" AS "_palimpsest_from",
          i."_palimpsest_until" AS "_palimpsest_until"
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
      ) AS v
      WHERE
        (
          (
            v."_palimpsest_from" <= MAKE_TIMESTAMPTZ($p_time_0)
            AND (v."_palimpsest_until" IS NULL OR v."_palimpsest_until" > MAKE_TIMESTAMPTZ($p_time_0))
          )
          AND NOT (
            (
              v."_palimpsest_from" <= MAKE_TIMESTAMPTZ($p_time_1)
              AND (v."_palimpsest_until" IS NULL OR v."_palimpsest_until" > MAKE_TIMESTAMPTZ($p_time_1))
            )
          )
        )
        OR (
          (
            v."_palimpsest_from" <= MAKE_TIMESTAMPTZ($p_time_1)
            AND (v."_palimpsest_until" IS NULL OR v."_palimpsest_until" > MAKE_TIMESTAMPTZ($p_time_1))
          )
          AND NOT (
            (
              v."_palimpsest_from" <= MAKE_TIMESTAMPTZ($p_time_0)
              AND (v."_palimpsest_until" IS NULL OR v."_palimpsest_until" > MAKE_TIMESTAMPTZ($p_time_0))
            )
          )
        )
    ) AS e
  ) AS d
  ASOF LEFT JOIN _palimpsest.transactions AS w
    ON w."version" >= EPOCH_US(
      CASE WHEN d."_palimpsest_is_new" = 1 THEN d."_palimpsest_from" ELSE d."_palimpsest_until"
      END
    )
  WHERE
    d."_palimpsest_rows" = 1
    OR d."k" IS DISTINCT FROM d."_palimpsest_other0"
    OR d."a" IS DISTINCT FROM d."_palimpsest_other1"
    OR d."b" IS DISTINCT FROM d."_palimpsest_other2"
  ORDER BY d."k", d."_palimpsest_is_new"
) AS "table_diff";
