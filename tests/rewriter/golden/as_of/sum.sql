-- A sum is not weighed in the past.
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
SELECT sum(a) AS s FROM main.t/*@m*/;
-- plan: embedded
-- 1. result
SELECT SUM(a) AS s
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
) AS "t";
