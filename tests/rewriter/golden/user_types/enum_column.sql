-- An enum's values stand in the place of its name.
-- setup
CREATE TYPE main.mood AS ENUM ('sad', 'ok');
CREATE TABLE main.t (k INTEGER PRIMARY KEY, m main.mood);
INSERT INTO main.t VALUES (1, 'ok');
-- statement
SELECT k FROM main.t WHERE m > 'sad'::mood;
-- plan: embedded
-- 1. result
SELECT k
FROM (
  SELECT o."k", o."m"
  FROM (
    SELECT "k", "m", "version_number", "subsequent_version_number"
    FROM _palimpsest.t2_base
    UNION ALL
    SELECT "k", "m", "version_number", "subsequent_version_number"
    FROM _palimpsest.t2_delta
    WHERE "subsequent_version_number" IS NULL
    UNION ALL
    SELECT "k", "m", "version_number", "subsequent_version_number"
    FROM _palimpsest.t2_head
    WHERE "subsequent_version_number" IS NULL
  ) AS o
  ANTI JOIN (
    SELECT "k", "m", "version_number", "subsequent_version_number"
    FROM _palimpsest.t2_delta
    UNION ALL
    SELECT "k", "m", "version_number", "subsequent_version_number"
    FROM _palimpsest.t2_head
  ) AS c
    ON (c."k" = o."k" AND c."version_number" = o."version_number")
    AND c."subsequent_version_number" > c."version_number"
) AS "t"
WHERE m > CAST('sad' AS ENUM('sad', 'ok'));
