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
SELECT p."_palimpsest_g0" AS "b", CASE WHEN SUM(p."_palimpsest_n0") > 0 THEN SUM(p."_palimpsest_s0") END AS "s"
FROM (
  SELECT
    p."_palimpsest_g0",
    SUM(p."_palimpsest_n0") AS _palimpsest_n0,
    SUM(p."_palimpsest_s0") AS _palimpsest_s0,
    SUM(p."_palimpsest_rows") AS _palimpsest_rows
  FROM (
    SELECT b AS _palimpsest_g0, COUNT(a) AS _palimpsest_n0, SUM(a) AS _palimpsest_s0, COUNT(*) AS _palimpsest_rows
    FROM (SELECT "k", "a", "b" FROM _palimpsest.t1_base) AS "t"
    GROUP BY b
    UNION ALL
    SELECT
      w."_palimpsest_g0",
      CASE WHEN w."_palimpsest_sign" < 0 THEN -w."_palimpsest_n0" ELSE w."_palimpsest_n0"
      END AS _palimpsest_n0,
      CASE WHEN w."_palimpsest_sign" < 0 THEN -w."_palimpsest_s0" ELSE w."_palimpsest_s0"
      END AS _palimpsest_s0,
      CASE WHEN w."_palimpsest_sign" < 0 THEN -w."_palimpsest_rows" ELSE w."_palimpsest_rows"
      END AS _palimpsest_rows
    FROM (
      SELECT
        b AS _palimpsest_g0,
        COUNT(a) AS _palimpsest_n0,
        SUM(a) AS _palimpsest_s0,
        COUNT(*) AS _palimpsest_rows,
        "_palimpsest_sign"
      FROM (
        SELECT "k", "a", "b", CASE WHEN "subsequent_version_number" IS NULL THEN 1 ELSE -1 END AS "_palimpsest_sign"
        FROM (
          SELECT "k", "a", "b", "version_number", "subsequent_version_number"
          FROM _palimpsest.t1_delta
          UNION ALL
          SELECT "k", "a", "b", "version_number", "subsequent_version_number"
          FROM _palimpsest.t1_head
        ) AS o
        WHERE "subsequent_version_number" IS NULL OR "subsequent_version_number" > "version_number"
      ) AS "t"
      GROUP BY b, "_palimpsest_sign"
    ) AS w
  ) AS "p"
  GROUP BY p."_palimpsest_g0"
  HAVING SUM(p."_palimpsest_rows") > 0
) AS "p"
GROUP BY GROUPING SETS ((p."_palimpsest_g0"), ());
-- plan: hive
-- 1. result
SELECT `grouped`.`c0` AS `b`, `grouped`.`c1` AS `s`
FROM (
  SELECT
    `p`.`_palimpsest_g0` AS `b`,
    CASE WHEN SUM(`p`.`_palimpsest_n0`) > 0 THEN SUM(`p`.`_palimpsest_s0`) END AS `s`
  FROM (
    SELECT
      `p`.`_palimpsest_g0`,
      SUM(`p`.`_palimpsest_n0`) AS `_palimpsest_n0`,
      SUM(`p`.`_palimpsest_s0`) AS `_palimpsest_s0`,
      SUM(`p`.`_palimpsest_rows`) AS `_palimpsest_rows`
    FROM (
      SELECT
        `b` AS `_palimpsest_g0`,
        COUNT(`a`) AS `_palimpsest_n0`,
        SUM(`a`) AS `_palimpsest_s0`,
        COUNT(*) AS `_palimpsest_rows`
      FROM (SELECT `k`, `a`, `b` FROM `_palimpsest`.`t1_base`) AS `t`
      GROUP BY `b`
      UNION ALL
      SELECT
        `w`.`_palimpsest_g0`,
        CASE WHEN `w`.`_palimpsest_sign` < 0 THEN -`w`.`_palimpsest_n0` ELSE `w`.`_palimpsest_n0`
        END AS `_palimpsest_n0`,
        CASE WHEN `w`.`_palimpsest_sign` < 0 THEN -`w`.`_palimpsest_s0` ELSE `w`.`_palimpsest_s0`
        END AS `_palimpsest_s0`,
        CASE WHEN `w`.`_palimpsest_sign` < 0 THEN -`w`.`_palimpsest_rows` ELSE `w`.`_palimpsest_rows`
        END AS `_palimpsest_rows`
      FROM (
        SELECT
          `b` AS `_palimpsest_g0`,
          COUNT(`a`) AS `_palimpsest_n0`,
          SUM(`a`) AS `_palimpsest_s0`,
          COUNT(*) AS `_palimpsest_rows`,
          `_palimpsest_sign`
        FROM (
          SELECT `k`, `a`, `b`, CASE WHEN `subsequent_version_number` IS NULL THEN 1 ELSE -1 END AS `_palimpsest_sign`
          FROM (
            SELECT `k`, `a`, `b`, `version_number`, `subsequent_version_number`
            FROM `_palimpsest`.`t1_delta`
            UNION ALL
            SELECT `k`, `a`, `b`, `version_number`, `subsequent_version_number`
            FROM `_palimpsest`.`t1_head`
          ) AS `o`
          WHERE `subsequent_version_number` IS NULL OR `subsequent_version_number` > `version_number`
        ) AS `t`
        GROUP BY `b`, `_palimpsest_sign`
      ) AS `w`
    ) AS `p`
    GROUP BY `p`.`_palimpsest_g0`
    HAVING SUM(`p`.`_palimpsest_rows`) > 0
  ) AS `p`
  GROUP BY GROUPING SETS ((`p`.`_palimpsest_g0`), ())
  UNION ALL
  SELECT
    ANY_VALUE(`p`.`_palimpsest_g0`) AS `b`,
    CASE WHEN SUM(`p`.`_palimpsest_n0`) > 0 THEN SUM(`p`.`_palimpsest_s0`) END AS `s`
  FROM (
    SELECT
      `p`.`_palimpsest_g0`,
      SUM(`p`.`_palimpsest_n0`) AS `_palimpsest_n0`,
      SUM(`p`.`_palimpsest_s0`) AS `_palimpsest_s0`,
      SUM(`p`.`_palimpsest_rows`) AS `_palimpsest_rows`
    FROM (
      SELECT
        `b` AS `_palimpsest_g0`,
        COUNT(`a`) AS `_palimpsest_n0`,
        SUM(`a`) AS `_palimpsest_s0`,
        COUNT(*) AS `_palimpsest_rows`
      FROM (SELECT `k`, `a`, `b` FROM `_palimpsest`.`t1_base`) AS `t`
      GROUP BY `b`
      UNION ALL
      SELECT
        `w`.`_palimpsest_g0`,
        CASE WHEN `w`.`_palimpsest_sign` < 0 THEN -`w`.`_palimpsest_n0` ELSE `w`.`_palimpsest_n0`
        END AS `_palimpsest_n0`,
        CASE WHEN `w`.`_palimpsest_sign` < 0 THEN -`w`.`_palimpsest_s0` ELSE `w`.`_palimpsest_s0`
        END AS `_palimpsest_s0`,
        CASE WHEN `w`.`_palimpsest_sign` < 0 THEN -`w`.`_palimpsest_rows` ELSE `w`.`_palimpsest_rows`
        END AS `_palimpsest_rows`
      FROM (
        SELECT
          `b` AS `_palimpsest_g0`,
          COUNT(`a`) AS `_palimpsest_n0`,
          SUM(`a`) AS `_palimpsest_s0`,
          COUNT(*) AS `_palimpsest_rows`,
          `_palimpsest_sign`
        FROM (
          SELECT `k`, `a`, `b`, CASE WHEN `subsequent_version_number` IS NULL THEN 1 ELSE -1 END AS `_palimpsest_sign`
          FROM (
            SELECT `k`, `a`, `b`, `version_number`, `subsequent_version_number`
            FROM `_palimpsest`.`t1_delta`
            UNION ALL
            SELECT `k`, `a`, `b`, `version_number`, `subsequent_version_number`
            FROM `_palimpsest`.`t1_head`
          ) AS `o`
          WHERE `subsequent_version_number` IS NULL OR `subsequent_version_number` > `version_number`
        ) AS `t`
        GROUP BY `b`, `_palimpsest_sign`
      ) AS `w`
    ) AS `p`
    GROUP BY `p`.`_palimpsest_g0`
    HAVING SUM(`p`.`_palimpsest_rows`) > 0
  ) AS `p`
  WHERE FALSE
  HAVING
    NOT EXISTS(
      SELECT 1
      FROM (
        SELECT
          `p`.`_palimpsest_g0`,
          SUM(`p`.`_palimpsest_n0`) AS `_palimpsest_n0`,
          SUM(`p`.`_palimpsest_s0`) AS `_palimpsest_s0`,
          SUM(`p`.`_palimpsest_rows`) AS `_palimpsest_rows`
        FROM (
          SELECT
            `b` AS `_palimpsest_g0`,
            COUNT(`a`) AS `_palimpsest_n0`,
            SUM(`a`) AS `_palimpsest_s0`,
            COUNT(*) AS `_palimpsest_rows`
          FROM (SELECT `k`, `a`, `b` FROM `_palimpsest`.`t1_base`) AS `t`
          GROUP BY `b`
          UNION ALL
          SELECT
            `w`.`_palimpsest_g0`,
            CASE WHEN `w`.`_palimpsest_sign` < 0 THEN -`w`.`_palimpsest_n0` ELSE `w`.`_palimpsest_n0`
            END AS `_palimpsest_n0`,
            CASE WHEN `w`.`_palimpsest_sign` < 0 THEN -`w`.`_palimpsest_s0` ELSE `w`.`_palimpsest_s0`
            END AS `_palimpsest_s0`,
            CASE WHEN `w`.`_palimpsest_sign` < 0 THEN -`w`.`_palimpsest_rows` ELSE `w`.`_palimpsest_rows`
            END AS `_palimpsest_rows`
          FROM (
            SELECT
              `b` AS `_palimpsest_g0`,
              COUNT(`a`) AS `_palimpsest_n0`,
              SUM(`a`) AS `_palimpsest_s0`,
              COUNT(*) AS `_palimpsest_rows`,
              `_palimpsest_sign`
            FROM (
              SELECT
                `k`,
                `a`,
                `b`,
                CASE WHEN `subsequent_version_number` IS NULL THEN 1 ELSE -1 END AS `_palimpsest_sign`
              FROM (
                SELECT `k`, `a`, `b`, `version_number`, `subsequent_version_number`
                FROM `_palimpsest`.`t1_delta`
                UNION ALL
                SELECT `k`, `a`, `b`, `version_number`, `subsequent_version_number`
                FROM `_palimpsest`.`t1_head`
              ) AS `o`
              WHERE `subsequent_version_number` IS NULL OR `subsequent_version_number` > `version_number`
            ) AS `t`
            GROUP BY `b`, `_palimpsest_sign`
          ) AS `w`
        ) AS `p`
        GROUP BY `p`.`_palimpsest_g0`
        HAVING SUM(`p`.`_palimpsest_rows`) > 0
      ) AS `p`
      LIMIT 1
    )
) AS `grouped`(`c0`, `c1`);
