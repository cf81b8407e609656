-- A table without a key is read by its hidden row id, which the star leaves out.
-- stores: embedded, hive
-- setup
CREATE TABLE main.loose (a INTEGER, b VARCHAR);
INSERT INTO main.loose VALUES (1, 'x'), (1, 'x'), (2, 'y');
-- statement
SELECT * FROM main.loose;
-- plan: embedded
-- 1. result
SELECT *
FROM (
  SELECT o."a", o."b"
  FROM (
    SELECT "a", "b", "_row_id", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_base
    UNION ALL
    SELECT "a", "b", "_row_id", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_delta
    WHERE "subsequent_version_number" IS NULL
    UNION ALL
    SELECT "a", "b", "_row_id", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_head
    WHERE "subsequent_version_number" IS NULL
  ) AS o
  ANTI JOIN (
    SELECT "a", "b", "_row_id", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_delta
    UNION ALL
    SELECT "a", "b", "_row_id", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_head
  ) AS c
    ON (c."_row_id" = o."_row_id" AND c."version_number" = o."version_number")
    AND c."subsequent_version_number" > c."version_number"
) AS "loose";
-- plan: hive
-- 1. result
SELECT *
FROM (
  SELECT `o`.`a`, `o`.`b`
  FROM (
    SELECT `a`, `b`, `_row_id`, `version_number`, `subsequent_version_number`
    FROM `_palimpsest`.`t1_base`
    UNION ALL
    SELECT `a`, `b`, `_row_id`, `version_number`, `subsequent_version_number`
    FROM `_palimpsest`.`t1_delta`
    WHERE `subsequent_version_number` IS NULL
    UNION ALL
    SELECT `a`, `b`, `_row_id`, `version_number`, `subsequent_version_number`
    FROM `_palimpsest`.`t1_head`
    WHERE `subsequent_version_number` IS NULL
  ) AS `o`
  ANTI JOIN (
    SELECT `a`, `b`, `_row_id`, `version_number`, `subsequent_version_number`
    FROM `_palimpsest`.`t1_delta`
    UNION ALL
    SELECT `a`, `b`, `_row_id`, `version_number`, `subsequent_version_number`
    FROM `_palimpsest`.`t1_head`
  ) AS `c`
    ON (`c`.`_row_id` = `o`.`_row_id` AND `c`.`version_number` = `o`.`version_number`)
    AND `c`.`subsequent_version_number` > `c`.`version_number`
) AS `loose`;
