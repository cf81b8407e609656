-- Rows that are read FOR UPDATE are claimed, as if they were written as they are.
-- run: no, a plain DuckDB has no FOR UPDATE
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER);
CREATE TABLE main.u (k INTEGER, b VARCHAR);
INSERT INTO main.t VALUES (1, 10), (2, 20);
INSERT INTO main.u VALUES (1, 'x'), (1, 'y');
-- statement
SELECT t.k, u.b FROM main.t JOIN main.u ON t.k = u.k WHERE t.a > 5 FOR UPDATE OF t;
-- plan: embedded
-- 1. result
SELECT t.k, u.b
FROM (
  SELECT o."k", o."a"
  FROM (
    SELECT "k", "a", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_base
    UNION ALL
    SELECT "k", "a", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_delta
    WHERE "subsequent_version_number" IS NULL
    UNION ALL
    SELECT "k", "a", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_head
    WHERE "subsequent_version_number" IS NULL
  ) AS o
  ANTI JOIN (
    SELECT "k", "a", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_delta
    UNION ALL
    SELECT "k", "a", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_head
  ) AS c
    ON (c."k" = o."k" AND c."version_number" = o."version_number")
    AND c."subsequent_version_number" > c."version_number"
) AS "t"
JOIN (
  SELECT o."k", o."b"
  FROM (
    SELECT "k", "b", "_row_id", "version_number", "subsequent_version_number"
    FROM _palimpsest.t2_base
    UNION ALL
    SELECT "k", "b", "_row_id", "version_number", "subsequent_version_number"
    FROM _palimpsest.t2_delta
    WHERE "subsequent_version_number" IS NULL
    UNION ALL
    SELECT "k", "b", "_row_id", "version_number", "subsequent_version_number"
    FROM _palimpsest.t2_head
    WHERE "subsequent_version_number" IS NULL
  ) AS o
  ANTI JOIN (
    SELECT "k", "b", "_row_id", "version_number", "subsequent_version_number"
    FROM _palimpsest.t2_delta
    UNION ALL
    SELECT "k", "b", "_row_id", "version_number", "subsequent_version_number"
    FROM _palimpsest.t2_head
  ) AS c
    ON (c."_row_id" = o."_row_id" AND c."version_number" = o."version_number")
    AND c."subsequent_version_number" > c."version_number"
) AS "u" ON t.k = u.k
WHERE t.a > 5;
-- 2. append to main.t_journal
WITH p_claimed_0 AS MATERIALIZED (
  SELECT r."_palimpsest_o0", r."_palimpsest_o1", r."_palimpsest_ov"
  FROM (
    SELECT i."_palimpsest_o0", i."_palimpsest_o1", i."_palimpsest_ov"
    FROM (
      SELECT t."k" AS _palimpsest_o0, t."a" AS _palimpsest_o1, t."_palimpsest_version" AS _palimpsest_ov
      FROM (
        SELECT o."k", o."a", o."version_number" AS "_palimpsest_version"
        FROM (
          SELECT "k", "a", "version_number", "subsequent_version_number"
          FROM _palimpsest.t1_base
          UNION ALL
          SELECT "k", "a", "version_number", "subsequent_version_number"
          FROM _palimpsest.t1_delta
          WHERE "subsequent_version_number" IS NULL
          UNION ALL
          SELECT "k", "a", "version_number", "subsequent_version_number"
          FROM _palimpsest.t1_head
          WHERE "subsequent_version_number" IS NULL
        ) AS o
        ANTI JOIN (
          SELECT "k", "a", "version_number", "subsequent_version_number"
          FROM _palimpsest.t1_delta
          UNION ALL
          SELECT "k", "a", "version_number", "subsequent_version_number"
          FROM _palimpsest.t1_head
        ) AS c
          ON (c."k" = o."k" AND c."version_number" = o."version_number")
          AND c."subsequent_version_number" > c."version_number"
      ) AS "t"
      JOIN (
        SELECT o."k", o."b"
        FROM (
          SELECT "k", "b", "_row_id", "version_number", "subsequent_version_number"
          FROM _palimpsest.t2_base
          UNION ALL
          SELECT "k", "b", "_row_id", "version_number", "subsequent_version_number"
          FROM _palimpsest.t2_delta
          WHERE "subsequent_version_number" IS NULL
          UNION ALL
          SELECT "k", "b", "_row_id", "version_number", "subsequent_version_number"
          FROM _palimpsest.t2_head
          WHERE "subsequent_version_number" IS NULL
        ) AS o
        ANTI JOIN (
          SELECT "k", "b", "_row_id", "version_number", "subsequent_version_number"
          FROM _palimpsest.t2_delta
          UNION ALL
          SELECT "k", "b", "_row_id", "version_number", "subsequent_version_number"
          FROM _palimpsest.t2_head
        ) AS c
          ON (c."_row_id" = o."_row_id" AND c."version_number" = o."version_number")
          AND c."subsequent_version_number" > c."version_number"
      ) AS "u" ON t.k = u.k
      WHERE t.a > 5
    ) AS i
    WHERE i."_palimpsest_ov" <= MAKE_TIMESTAMPTZ($p_snapshot)
  ) AS r
  QUALIFY ROW_NUMBER() OVER (PARTITION BY r."_palimpsest_o0") = 1
)
SELECT
  s."_palimpsest_o0" AS "k",
  s."_palimpsest_o1" AS "a",
  s."_palimpsest_ov" AS "version_number",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_claimed_0 AS s
UNION ALL
SELECT
  s."_palimpsest_o0" AS "k",
  s."_palimpsest_o1" AS "a",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "version_number",
  CAST(NULL AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_claimed_0 AS s;
