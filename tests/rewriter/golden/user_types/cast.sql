-- A cast to a domain with a check fails on what the check refuses.
-- run: no: DuckDB has no domains
-- setup
CREATE DOMAIN main.positive AS INTEGER CHECK (VALUE > 0);
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER);
-- statement
SELECT CAST(a AS positive) FROM main.t;
-- plan: embedded
-- 1. result
SELECT
  (
    CASE
      WHEN NOT (CAST(a AS INT) > 0)
      THEN CAST(CAST(ERROR('value for domain main.positive violates check constraint "positive_check"') AS TEXT) AS
        INT)
      ELSE CAST(a AS INT)
    END
  )
FROM (
  SELECT o."k", o."a"
  FROM (
    SELECT "k", "a", "version_number", "subsequent_version_number"
    FROM _palimpsest.t2_base
    UNION ALL
    SELECT "k", "a", "version_number", "subsequent_version_number"
    FROM _palimpsest.t2_delta
    WHERE "subsequent_version_number" IS NULL
    UNION ALL
    SELECT "k", "a", "version_number", "subsequent_version_number"
    FROM _palimpsest.t2_head
    WHERE "subsequent_version_number" IS NULL
  ) AS o
  ANTI JOIN (
    SELECT "k", "a", "version_number", "subsequent_version_number"
    FROM _palimpsest.t2_delta
    UNION ALL
    SELECT "k", "a", "version_number", "subsequent_version_number"
    FROM _palimpsest.t2_head
  ) AS c
    ON (c."k" = o."k" AND c."version_number" = o."version_number")
    AND c."subsequent_version_number" > c."version_number"
) AS "t";
