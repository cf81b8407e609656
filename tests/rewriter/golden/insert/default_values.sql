-- Every column takes its default.
-- setup
CREATE TABLE main.loose (a INTEGER DEFAULT 7, b VARCHAR);
-- statement
INSERT INTO main.loose DEFAULT VALUES;
-- plan: embedded
-- 1. reserve generated numbers for "_row_id" as p_row
-- 2. append to main.loose_journal
WITH p_changed AS MATERIALIZED (
  SELECT
    CAST(7 AS INT) AS _palimpsest_n0,
    CAST(NULL AS TEXT) AS _palimpsest_n1,
    $p_row + (ROW_NUMBER() OVER () - 1) AS _palimpsest_n2
  FROM (SELECT 1 AS _palimpsest_c0) AS r
)
SELECT
  s."_palimpsest_n0" AS "a",
  s."_palimpsest_n1" AS "b",
  s."_palimpsest_n2" AS "_row_id",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "version_number",
  CAST(NULL AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed AS s;
