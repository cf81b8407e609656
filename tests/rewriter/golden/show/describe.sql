-- The columns of a query.
-- run: no: DuckDB names its columns otherwise
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR DEFAULT 'none');
CREATE VIEW main.v AS SELECT k, a FROM main.t WHERE a > 1;
INSERT INTO main.t (k, a) VALUES (1, 1), (2, 2), (3, 3);
DELETE FROM main.t WHERE k = 3;
-- statement
DESCRIBE SELECT k, a FROM main.t;
-- plan: embedded
-- 1. result
DESCRIBE SELECT k, a
FROM (
  SELECT o."k", o."a", o."b"
  FROM (
    SELECT "k", "a", "b", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_base
    UNION ALL
    SELECT "k", "a", "b", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_delta
    WHERE "subsequent_version_number" IS NULL
    UNION ALL
    SELECT "k", "a", "b", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_head
    WHERE "subsequent_version_number" IS NULL
  ) AS o
  ANTI JOIN (
    SELECT "k", "a", "b", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_delta
    UNION ALL
    SELECT "k", "a", "b", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_head
  ) AS c
    ON (c."k" = o."k" AND c."version_number" = o."version_number")
    AND c."subsequent_version_number" > c."version_number"
) AS "t";
