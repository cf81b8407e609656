-- The point of a view holds for all tables inside it.
-- run: no: a plain view has no past
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR);
INSERT INTO main.t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, 30, 'x'), (4, NULL, 'z');
UPDATE main.t SET a = 31 WHERE k = 3;
DELETE FROM main.t WHERE k = 4;
CREATE VIEW main.v AS SELECT k, a FROM main.t WHERE a > 10;
CREATE VIEW main.w (key, twice) AS SELECT k, a * 2 FROM main.v;
-- statement
SELECT * FROM main.v FOR SYSTEM_VERSION AS OF 1000;
-- plan: embedded
-- 1. result
SELECT *
FROM (
  SELECT *
  FROM (
    SELECT k, a
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
    ) AS "t"
    WHERE a > 10
  ) AS "v"("k", "a")
) AS "v";
