-- A table without a key numbers its rows.
-- stores: embedded, hive
-- setup
CREATE TABLE main.loose (a INTEGER, b VARCHAR);
INSERT INTO main.loose VALUES (1, 'x'), (1, 'x'), (2, 'y');
-- statement
INSERT INTO main.loose VALUES (3, 'z'), (3, 'z');
-- plan: embedded
-- 1. reserve generated numbers for "_row_id" as p_row
-- 2. keep as "p_changed"
SELECT
  r."_palimpsest_c0" AS _palimpsest_n0,
  r."_palimpsest_c1" AS _palimpsest_n1,
  $p_row + (ROW_NUMBER() OVER () - 1) AS _palimpsest_n2
FROM (
  SELECT *
  FROM (VALUES
    (CAST(3 AS INT), CAST('z' AS TEXT)),
    (CAST(3 AS INT), CAST('z' AS TEXT))) AS v(_palimpsest_c0, _palimpsest_c1)
) AS r;
-- 3. append to main.loose_journal
SELECT
  s."_palimpsest_n0" AS "a",
  s."_palimpsest_n1" AS "b",
  s."_palimpsest_n2" AS "_row_id",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "version_number",
  CAST(NULL AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed AS s;
-- plan: hive
-- 1. reserve generated numbers for "_row_id" as p_row
-- 2. keep as "p_changed"
SELECT
  `r`.`_palimpsest_c0` AS `_palimpsest_n0`,
  `r`.`_palimpsest_c1` AS `_palimpsest_n1`,
  :p_row + (ROW_NUMBER() OVER (ORDER BY NULL) - 1) AS `_palimpsest_n2`
FROM (
  SELECT *
  FROM VALUES
    (CAST(3 AS INT), CAST('z' AS STRING)),
    (CAST(3 AS INT), CAST('z' AS STRING)) AS `v`(`_palimpsest_c0`, `_palimpsest_c1`)
) AS `r`;
-- 3. append to main.loose_journal
SELECT
  `s`.`_palimpsest_n0` AS `a`,
  `s`.`_palimpsest_n1` AS `b`,
  `s`.`_palimpsest_n2` AS `_row_id`,
  CAST(TIMESTAMP_MICROS(:p_version) AS TIMESTAMP) AS `version_number`,
  CAST(NULL AS TIMESTAMP) AS `subsequent_version_number`
FROM `p_changed` AS `s`;
