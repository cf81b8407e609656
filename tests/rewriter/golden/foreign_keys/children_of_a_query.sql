-- Every new child must have its parent.
-- stores: embedded, postgresql, hive
-- setup
CREATE TABLE main.p (a INTEGER PRIMARY KEY, n VARCHAR);
CREATE TABLE main.c (k INTEGER PRIMARY KEY, x INTEGER REFERENCES main.p (a), v VARCHAR);
CREATE TABLE main.tree (id INTEGER PRIMARY KEY, up INTEGER REFERENCES main.tree (id));
INSERT INTO main.p VALUES (1, 'one'), (2, 'two'), (3, 'three');
INSERT INTO main.c VALUES (1, 1, 'a'), (2, NULL, 'b');
INSERT INTO main.tree VALUES (1, NULL);
-- statement
INSERT INTO main.c SELECT k + 10, x + 1, v FROM main.c;
-- plan: embedded
-- 1. keep as "p_changed"
SELECT
  r."_palimpsest_c0" AS _palimpsest_n0,
  r."_palimpsest_c1" AS _palimpsest_n1,
  r."_palimpsest_c2" AS _palimpsest_n2
FROM (
  SELECT
    CAST(q._palimpsest_c0 AS INT) AS _palimpsest_c0,
    CAST(q._palimpsest_c1 AS INT) AS _palimpsest_c1,
    CAST(q._palimpsest_c2 AS TEXT) AS _palimpsest_c2
  FROM (
    SELECT k + 10, x + 1, v
    FROM (
      SELECT o."k", o."x", o."v"
      FROM (
        SELECT "k", "x", "v", "version_number", "subsequent_version_number"
        FROM _palimpsest.t2_base
        UNION ALL
        SELECT "k", "x", "v", "version_number", "subsequent_version_number"
        FROM _palimpsest.t2_delta
        WHERE "subsequent_version_number" IS NULL
        UNION ALL
        SELECT "k", "x", "v", "version_number", "subsequent_version_number"
        FROM _palimpsest.t2_head
        WHERE "subsequent_version_number" IS NULL
      ) AS o
      ANTI JOIN (
        SELECT "k", "x", "v", "version_number", "subsequent_version_number"
        FROM _palimpsest.t2_delta
        UNION ALL
        SELECT "k", "x", "v", "version_number", "subsequent_version_number"
        FROM _palimpsest.t2_head
      ) AS c
        ON (c."k" = o."k" AND c."version_number" = o."version_number")
        AND c."subsequent_version_number" > c."version_number"
    ) AS "c"
  ) AS q(_palimpsest_c0, _palimpsest_c1, _palimpsest_c2)
) AS r;
-- 2. check: PAL-302 (23502) if it returns a row: null in column ".." of main.c, which is NOT NULL
SELECT CASE WHEN s."_palimpsest_n0" IS NULL THEN 'k' END AS found
FROM p_changed AS s
WHERE s."_palimpsest_n0" IS NULL
LIMIT 1;
-- 3. check: PAL-301 (23505) if it returns a row: duplicate key (k) = (..) violates "c_pkey" of main.c
SELECT shown
FROM (
  SELECT CONCAT_WS(', ', CAST(s."_palimpsest_n0" AS TEXT)) AS shown
  FROM p_changed AS s
  WHERE NOT s."_palimpsest_n0" IS NULL
  GROUP BY s."_palimpsest_n0"
  HAVING COUNT(*) > 1
  UNION ALL
  SELECT CONCAT_WS(', ', CAST(s."_palimpsest_n0" AS TEXT)) AS shown
  FROM p_changed AS s
  JOIN (
    SELECT o."k", o."x", o."v", o."version_number"
    FROM (
      SELECT "k", "x", "v", "version_number", "subsequent_version_number"
      FROM _palimpsest.t2_base
      UNION ALL
      SELECT "k", "x", "v", "version_number", "subsequent_version_number"
      FROM _palimpsest.t2_delta
      WHERE "subsequent_version_number" IS NULL
      UNION ALL
      SELECT "k", "x", "v", "version_number", "subsequent_version_number"
      FROM _palimpsest.t2_head
      WHERE "subsequent_version_number" IS NULL
    ) AS o
    ANTI JOIN (
      SELECT "k", "x", "v", "version_number", "subsequent_version_number"
      FROM _palimpsest.t2_delta
      UNION ALL
      SELECT "k", "x", "v", "version_number", "subsequent_version_number"
      FROM _palimpsest.t2_head
    ) AS c
      ON (c."k" = o."k" AND c."version_number" = o."version_number")
      AND c."subsequent_version_number" > c."version_number"
  ) AS c ON c."k" = s."_palimpsest_n0"
  WHERE NOT s."_palimpsest_n0" IS NULL
) AS g
LIMIT 1;
-- 4. check: PAL-307 (23503) if it returns a row: foreign key (x) = (..) violates "c_x_fkey" of main.c: main.p has no
-- such (a)
SELECT CONCAT_WS(', ', CAST(s."v0" AS TEXT)) AS shown
FROM (SELECT s."_palimpsest_n1" AS v0 FROM p_changed AS s WHERE NOT s."_palimpsest_n1" IS NULL) AS s
ANTI JOIN (
  SELECT o."a"
  FROM (
    SELECT "a", "n", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_base
    UNION ALL
    SELECT "a", "n", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_delta
    WHERE "subsequent_version_number" IS NULL
    UNION ALL
    SELECT "a", "n", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_head
    WHERE "subsequent_version_number" IS NULL
  ) AS o
  ANTI JOIN (
    SELECT "a", "n", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_delta
    UNION ALL
    SELECT "a", "n", "version_number", "subsequent_version_number"
    FROM _palimpsest.t1_head
  ) AS c
    ON (c."a" = o."a" AND c."version_number" = o."version_number")
    AND c."subsequent_version_number" > c."version_number"
) AS p ON p."a" = s."v0"
LIMIT 1;
-- 5. append to main.c_journal
SELECT
  s."_palimpsest_n0" AS "k",
  s."_palimpsest_n1" AS "x",
  s."_palimpsest_n2" AS "v",
  CAST(MAKE_TIMESTAMPTZ($p_version) AS TIMESTAMPTZ) AS "version_number",
  CAST(NULL AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM p_changed AS s;
-- plan: postgresql
-- 1. keep as "p_changed"
SELECT
  "r"."_palimpsest_c0" AS "_palimpsest_n0",
  "r"."_palimpsest_c1" AS "_palimpsest_n1",
  "r"."_palimpsest_c2" AS "_palimpsest_n2"
FROM (
  SELECT
    CAST("q"."_palimpsest_c0" AS INT) AS "_palimpsest_c0",
    CAST("q"."_palimpsest_c1" AS INT) AS "_palimpsest_c1",
    CAST("q"."_palimpsest_c2" AS TEXT) AS "_palimpsest_c2"
  FROM (
    SELECT "k" + 10, "x" + 1, "v"
    FROM (
      SELECT "o"."k", "o"."x", "o"."v"
      FROM (
        SELECT "k", "x", "v", "version_number", "subsequent_version_number"
        FROM "_palimpsest"."t2_base"
        UNION ALL
        SELECT "k", "x", "v", "version_number", "subsequent_version_number"
        FROM "_palimpsest"."t2_delta"
        UNION ALL
        SELECT "k", "x", "v", "version_number", "subsequent_version_number"
        FROM "_palimpsest"."t2_head"
      ) AS "o"
      WHERE
        "o"."subsequent_version_number" IS NULL
        AND NOT EXISTS(
          SELECT 1
          FROM (
            SELECT "k", "x", "v", "version_number", "subsequent_version_number"
            FROM "_palimpsest"."t2_delta"
            UNION ALL
            SELECT "k", "x", "v", "version_number", "subsequent_version_number"
            FROM "_palimpsest"."t2_head"
          ) AS "c"
          WHERE
            ("c"."k" = "o"."k" AND "c"."version_number" = "o"."version_number")
            AND (
              NOT "c"."subsequent_version_number" IS NULL
              OR "c"."subsequent_version_number" = "c"."version_number"
            )
            AND "c"."subsequent_version_number" > "c"."version_number"
        )
    ) AS "c"
  ) AS "q"("_palimpsest_c0", "_palimpsest_c1", "_palimpsest_c2")
) AS "r";
-- 2. check: PAL-302 (23502) if it returns a row: null in column ".." of main.c, which is NOT NULL
SELECT CASE WHEN "s"."_palimpsest_n0" IS NULL THEN 'k' END AS "found"
FROM "p_changed" AS "s"
WHERE "s"."_palimpsest_n0" IS NULL
LIMIT 1;
-- 3. check: PAL-301 (23505) if it returns a row: duplicate key (k) = (..) violates "c_pkey" of main.c
SELECT "shown"
FROM (
  SELECT CONCAT_WS(', ', CAST("s"."_palimpsest_n0" AS TEXT)) AS "shown"
  FROM "p_changed" AS "s"
  WHERE NOT "s"."_palimpsest_n0" IS NULL
  GROUP BY "s"."_palimpsest_n0"
  HAVING COUNT(*) > 1
  UNION ALL
  SELECT CONCAT_WS(', ', CAST("s"."_palimpsest_n0" AS TEXT)) AS "shown"
  FROM "p_changed" AS "s"
  JOIN (
    SELECT "o"."k", "o"."x", "o"."v", "o"."version_number"
    FROM (
      SELECT "k", "x", "v", "version_number", "subsequent_version_number"
      FROM "_palimpsest"."t2_base"
      UNION ALL
      SELECT "k", "x", "v", "version_number", "subsequent_version_number"
      FROM "_palimpsest"."t2_delta"
      UNION ALL
      SELECT "k", "x", "v", "version_number", "subsequent_version_number"
      FROM "_palimpsest"."t2_head"
    ) AS "o"
    WHERE
      "o"."subsequent_version_number" IS NULL
      AND NOT EXISTS(
        SELECT 1
        FROM (
          SELECT "k", "x", "v", "version_number", "subsequent_version_number"
          FROM "_palimpsest"."t2_delta"
          UNION ALL
          SELECT "k", "x", "v", "version_number", "subsequent_version_number"
          FROM "_palimpsest"."t2_head"
        ) AS "c"
        WHERE
          ("c"."k" = "o"."k" AND "c"."version_number" = "o"."version_number")
          AND (NOT "c"."subsequent_version_number" IS NULL OR "c"."subsequent_version_number" = "c"."version_number")
          AND "c"."subsequent_version_number" > "c"."version_number"
      )
  ) AS "c" ON "c"."k" = "s"."_palimpsest_n0"
  WHERE NOT "s"."_palimpsest_n0" IS NULL
) AS "g"
LIMIT 1;
-- 4. check: PAL-307 (23503) if it returns a row: foreign key (x) = (..) violates "c_x_fkey" of main.c: main.p has no
-- such (a)
SELECT CONCAT_WS(', ', CAST("s"."v0" AS TEXT)) AS "shown"
FROM (SELECT "s"."_palimpsest_n1" AS "v0" FROM "p_changed" AS "s" WHERE NOT "s"."_palimpsest_n1" IS NULL) AS "s"
WHERE
  NOT EXISTS(
    SELECT 1
    FROM (
      SELECT "o"."a"
      FROM (
        SELECT "a", "n", "version_number", "subsequent_version_number"
        FROM "_palimpsest"."t1_base"
        UNION ALL
        SELECT "a", "n", "version_number", "subsequent_version_number"
        FROM "_palimpsest"."t1_delta"
        UNION ALL
        SELECT "a", "n", "version_number", "subsequent_version_number"
        FROM "_palimpsest"."t1_head"
      ) AS "o"
      WHERE
        "o"."subsequent_version_number" IS NULL
        AND NOT EXISTS(
          SELECT 1
          FROM (
            SELECT "a", "n", "version_number", "subsequent_version_number"
            FROM "_palimpsest"."t1_delta"
            UNION ALL
            SELECT "a", "n", "version_number", "subsequent_version_number"
            FROM "_palimpsest"."t1_head"
          ) AS "c"
          WHERE
            ("c"."a" = "o"."a" AND "c"."version_number" = "o"."version_number")
            AND (
              NOT "c"."subsequent_version_number" IS NULL
              OR "c"."subsequent_version_number" = "c"."version_number"
            )
            AND "c"."subsequent_version_number" > "c"."version_number"
        )
    ) AS "p"
    WHERE "p"."a" = "s"."v0"
  )
LIMIT 1;
-- 5. append to main.c_journal
SELECT
  "s"."_palimpsest_n0" AS "k",
  "s"."_palimpsest_n1" AS "x",
  "s"."_palimpsest_n2" AS "v",
  CAST((
    CAST('1970-01-01 00:00:00+00' AS TIMESTAMPTZ) + ($1) * INTERVAL '1 MICROSECOND'
  ) AS TIMESTAMPTZ) AS "version_number",
  CAST(NULL AS TIMESTAMPTZ) AS "subsequent_version_number"
FROM "p_changed" AS "s";
-- plan: hive
-- 1. keep as "p_changed"
SELECT
  `r`.`_palimpsest_c0` AS `_palimpsest_n0`,
  `r`.`_palimpsest_c1` AS `_palimpsest_n1`,
  `r`.`_palimpsest_c2` AS `_palimpsest_n2`
FROM (
  SELECT
    CAST(`q`.`_palimpsest_c0` AS INT) AS `_palimpsest_c0`,
    CAST(`q`.`_palimpsest_c1` AS INT) AS `_palimpsest_c1`,
    CAST(`q`.`_palimpsest_c2` AS STRING) AS `_palimpsest_c2`
  FROM (
    SELECT `k` + 10, `x` + 1, `v`
    FROM (
      SELECT `o`.`k`, `o`.`x`, `o`.`v`
      FROM (
        SELECT `k`, `x`, `v`, `version_number`, `subsequent_version_number`
        FROM `_palimpsest`.`t2_base`
        UNION ALL
        SELECT `k`, `x`, `v`, `version_number`, `subsequent_version_number`
        FROM `_palimpsest`.`t2_delta`
        WHERE `subsequent_version_number` IS NULL
        UNION ALL
        SELECT `k`, `x`, `v`, `version_number`, `subsequent_version_number`
        FROM `_palimpsest`.`t2_head`
        WHERE `subsequent_version_number` IS NULL
      ) AS `o`
      ANTI JOIN (
        SELECT `k`, `x`, `v`, `version_number`, `subsequent_version_number`
        FROM `_palimpsest`.`t2_delta`
        UNION ALL
        SELECT `k`, `x`, `v`, `version_number`, `subsequent_version_number`
        FROM `_palimpsest`.`t2_head`
      ) AS `c`
        ON (`c`.`k` = `o`.`k` AND `c`.`version_number` = `o`.`version_number`)
        AND `c`.`subsequent_version_number` > `c`.`version_number`
    ) AS `c`
  ) AS `q`(`_palimpsest_c0`, `_palimpsest_c1`, `_palimpsest_c2`)
) AS `r`;
-- 2. check: PAL-302 (23502) if it returns a row: null in column ".." of main.c, which is NOT NULL
SELECT CASE WHEN `s`.`_palimpsest_n0` IS NULL THEN 'k' END AS `found`
FROM `p_changed` AS `s`
WHERE `s`.`_palimpsest_n0` IS NULL
LIMIT 1;
-- 3. check: PAL-301 (23505) if it returns a row: duplicate key (k) = (..) violates "c_pkey" of main.c
SELECT `shown`
FROM (
  SELECT CONCAT_WS(', ', CAST(`s`.`_palimpsest_n0` AS STRING)) AS `shown`
  FROM `p_changed` AS `s`
  WHERE NOT `s`.`_palimpsest_n0` IS NULL
  GROUP BY `s`.`_palimpsest_n0`
  HAVING COUNT(*) > 1
  UNION ALL
  SELECT CONCAT_WS(', ', CAST(`s`.`_palimpsest_n0` AS STRING)) AS `shown`
  FROM `p_changed` AS `s`
  JOIN (
    SELECT `o`.`k`, `o`.`x`, `o`.`v`, `o`.`version_number`
    FROM (
      SELECT `k`, `x`, `v`, `version_number`, `subsequent_version_number`
      FROM `_palimpsest`.`t2_base`
      UNION ALL
      SELECT `k`, `x`, `v`, `version_number`, `subsequent_version_number`
      FROM `_palimpsest`.`t2_delta`
      WHERE `subsequent_version_number` IS NULL
      UNION ALL
      SELECT `k`, `x`, `v`, `version_number`, `subsequent_version_number`
      FROM `_palimpsest`.`t2_head`
      WHERE `subsequent_version_number` IS NULL
    ) AS `o`
    ANTI JOIN (
      SELECT `k`, `x`, `v`, `version_number`, `subsequent_version_number`
      FROM `_palimpsest`.`t2_delta`
      UNION ALL
      SELECT `k`, `x`, `v`, `version_number`, `subsequent_version_number`
      FROM `_palimpsest`.`t2_head`
    ) AS `c`
      ON (`c`.`k` = `o`.`k` AND `c`.`version_number` = `o`.`version_number`)
      AND `c`.`subsequent_version_number` > `c`.`version_number`
  ) AS `c` ON `c`.`k` = `s`.`_palimpsest_n0`
  WHERE NOT `s`.`_palimpsest_n0` IS NULL
) AS `g`
LIMIT 1;
-- 4. check: PAL-307 (23503) if it returns a row: foreign key (x) = (..) violates "c_x_fkey" of main.c: main.p has no
-- such (a)
SELECT CONCAT_WS(', ', CAST(`s`.`v0` AS STRING)) AS `shown`
FROM (SELECT `s`.`_palimpsest_n1` AS `v0` FROM `p_changed` AS `s` WHERE NOT `s`.`_palimpsest_n1` IS NULL) AS `s`
ANTI JOIN (
  SELECT `o`.`a`
  FROM (
    SELECT `a`, `n`, `version_number`, `subsequent_version_number`
    FROM `_palimpsest`.`t1_base`
    UNION ALL
    SELECT `a`, `n`, `version_number`, `subsequent_version_number`
    FROM `_palimpsest`.`t1_delta`
    WHERE `subsequent_version_number` IS NULL
    UNION ALL
    SELECT `a`, `n`, `version_number`, `subsequent_version_number`
    FROM `_palimpsest`.`t1_head`
    WHERE `subsequent_version_number` IS NULL
  ) AS `o`
  ANTI JOIN (
    SELECT `a`, `n`, `version_number`, `subsequent_version_number`
    FROM `_palimpsest`.`t1_delta`
    UNION ALL
    SELECT `a`, `n`, `version_number`, `subsequent_version_number`
    FROM `_palimpsest`.`t1_head`
  ) AS `c`
    ON (`c`.`a` = `o`.`a` AND `c`.`version_number` = `o`.`version_number`)
    AND `c`.`subsequent_version_number` > `c`.`version_number`
) AS `p` ON `p`.`a` = `s`.`v0`
LIMIT 1;
-- 5. append to main.c_journal
SELECT
  `s`.`_palimpsest_n0` AS `k`,
  `s`.`_palimpsest_n1` AS `x`,
  `s`.`_palimpsest_n2` AS `v`,
  CAST(TIMESTAMP_MICROS(:p_version) AS TIMESTAMP) AS `version_number`,
  CAST(NULL AS TIMESTAMP) AS `subsequent_version_number`
FROM `p_changed` AS `s`;
