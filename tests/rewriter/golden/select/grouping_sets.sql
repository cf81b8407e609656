-- Grouping sets run over the current view.
-- stores: embedded, hive
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR);
INSERT INTO main.t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, 30, 'x'), (4, NULL, 'z');
UPDATE main.t SET a = 31 WHERE k = 3;
DELETE FROM main.t WHERE k = 4;
-- statement
SELECT b, sum(a) AS s FROM main.t GROUP BY GROUPING SETS ((b), ());
-- plan: embedded
-- 1. result
SELECT b, SUM(a) AS s
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
) AS "t"
GROUP BY GROUPING SETS ((b), ());
-- plan: hive
-- 1. result
SELECT `grouped`.`c0` AS `b`, `grouped`.`c1` AS `s`
FROM (
  SELECT `b`, SUM(`a`) AS `s`
  FROM (
    SELECT `o`.`k`, `o`.`a`, `o`.`b`
    FROM (
      SELECT `k`, `a`, `b`, `version_number`, `subsequent_version_number`
      FROM `_palimpsest`.`t1_base`
      UNION ALL
      SELECT `k`, `a`, `b`, `version_number`, `subsequent_version_number`
      FROM `_palimpsest`.`t1_delta`
      WHERE `subsequent_version_number` IS NULL
      UNION ALL
      SELECT `k`, `a`, `b`, `version_number`, `subsequent_version_number`
      FROM `_palimpsest`.`t1_head`
      WHERE `subsequent_version_number` IS NULL
    ) AS `o`
    ANTI JOIN (
      SELECT `k`, `a`, `b`, `version_number`, `subsequent_version_number`
      FROM `_palimpsest`.`t1_delta`
      UNION ALL
      SELECT `k`, `a`, `b`, `version_number`, `subsequent_version_number`
      FROM `_palimpsest`.`t1_head`
    ) AS `c`
      ON (`c`.`k` = `o`.`k` AND `c`.`version_number` = `o`.`version_number`)
      AND `c`.`subsequent_version_number` > `c`.`version_number`
  ) AS `t`
  GROUP BY GROUPING SETS ((`b`), ())
  UNION ALL
  SELECT ANY_VALUE(`b`), SUM(`a`) AS `s`
  FROM (
    SELECT `o`.`k`, `o`.`a`, `o`.`b`
    FROM (
      SELECT `k`, `a`, `b`, `version_number`, `subsequent_version_number`
      FROM `_palimpsest`.`t1_base`
      UNION ALL
      SELECT `k`, `a`, `b`, `version_number`, `subsequent_version_number`
      FROM `_palimpsest`.`t1_delta`
      WHERE `subsequent_version_number` IS NULL
      UNION ALL
      SELECT `k`, `a`, `b`, `version_number`, `subsequent_version_number`
      FROM `_palimpsest`.`t1_head`
      WHERE `subsequent_version_number` IS NULL
    ) AS `o`
    ANTI JOIN (
      SELECT `k`, `a`, `b`, `version_number`, `subsequent_version_number`
      FROM `_palimpsest`.`t1_delta`
      UNION ALL
      SELECT `k`, `a`, `b`, `version_number`, `subsequent_version_number`
      FROM `_palimpsest`.`t1_head`
    ) AS `c`
      ON (`c`.`k` = `o`.`k` AND `c`.`version_number` = `o`.`version_number`)
      AND `c`.`subsequent_version_number` > `c`.`version_number`
  ) AS `t`
  WHERE FALSE
  HAVING
    NOT EXISTS(
      SELECT 1
      FROM (
        SELECT `o`.`k`, `o`.`a`, `o`.`b`
        FROM (
          SELECT `k`, `a`, `b`, `version_number`, `subsequent_version_number`
          FROM `_palimpsest`.`t1_base`
          UNION ALL
          SELECT `k`, `a`, `b`, `version_number`, `subsequent_version_number`
          FROM `_palimpsest`.`t1_delta`
          WHERE `subsequent_version_number` IS NULL
          UNION ALL
          SELECT `k`, `a`, `b`, `version_number`, `subsequent_version_number`
          FROM `_palimpsest`.`t1_head`
          WHERE `subsequent_version_number` IS NULL
        ) AS `o`
        ANTI JOIN (
          SELECT `k`, `a`, `b`, `version_number`, `subsequent_version_number`
          FROM `_palimpsest`.`t1_delta`
          UNION ALL
          SELECT `k`, `a`, `b`, `version_number`, `subsequent_version_number`
          FROM `_palimpsest`.`t1_head`
        ) AS `c`
          ON (`c`.`k` = `o`.`k` AND `c`.`version_number` = `o`.`version_number`)
          AND `c`.`subsequent_version_number` > `c`.`version_number`
      ) AS `t`
      LIMIT 1
    )
) AS `grouped`(`c0`, `c1`);
