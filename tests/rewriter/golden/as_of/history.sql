-- The versions of each row, with the transactions that wrote them.
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
SELECT * FROM table_history('main.t');
-- plan: embedded
-- 1. result
SELECT *
FROM (
  SELECT
    i."k" AS "k",
    i."a" AS "a",
    i."b" AS "b",
    i."_palimpsest_from" AS "valid_from",
    i."_palimpsest_until" AS "valid_to",
    CASE WHEN w."first_version" <= EPOCH_US(i."_palimpsest_from") THEN w."user_name"
    END AS "user",
    CASE WHEN w."first_version" <= EPOCH_US(i."_palimpsest_from") THEN w."application"
    END AS "application",
    CASE WHEN w."first_version" <= EPOCH_US(i."_palimpsest_from") THEN w."statement_digest"
    END AS "statement_digest",
    CASE WHEN w."first_version" <= EPOCH_US(i."_palimpsest_from") THEN w."message" END AS "message"
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
  ASOF LEFT JOIN _palimpsest.transactions AS w ON w."version" >= EPOCH_US(i."_palimpsest_from")
  ORDER BY i."k", i."_palimpsest_from"
) AS "table_history";
