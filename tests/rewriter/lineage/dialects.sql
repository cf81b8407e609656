-- Statements of the dialect duckdb, each after its name; test_dialects.py writes them in all others.

-- name: star
INSERT INTO dest SELECT * FROM src;

-- name: columns
INSERT INTO dest (v, k) SELECT value, key FROM src WHERE key > 1;

-- name: ctas
CREATE TABLE n AS SELECT s.key AS x, upper(s.value) AS y FROM src AS s;

-- name: view
CREATE VIEW n AS SELECT key AS x FROM src;

-- name: join
INSERT INTO dest SELECT s.key, j.a FROM src AS s JOIN j ON s.key = j.id;

-- name: left join
INSERT INTO dest SELECT s.key, j.a FROM src AS s LEFT JOIN j ON s.key = j.id WHERE j.b > 2;

-- name: using
INSERT INTO dest SELECT key, d.x FROM src JOIN (SELECT id AS key, a AS x FROM j) AS d USING (key);

-- name: group
INSERT INTO dest SELECT key, sum(key) AS t FROM src GROUP BY key HAVING count(*) > 1;

-- name: window
INSERT INTO dest SELECT key, row_number() OVER (PARTITION BY value ORDER BY key) AS n FROM src;

-- name: union all
INSERT INTO dest SELECT key, value FROM src UNION ALL SELECT id, a FROM j;

-- name: union
INSERT INTO dest SELECT key, value FROM src UNION SELECT id, a FROM j;

-- name: except
INSERT INTO dest SELECT key, value FROM src EXCEPT SELECT id, a FROM j;

-- name: cte
INSERT INTO dest WITH q AS (SELECT key AS x, value AS y FROM src) SELECT x, y FROM q;

-- name: cte shadows
INSERT INTO dest WITH src AS (SELECT id AS key, a AS value FROM j) SELECT key, value FROM src;

-- name: case
INSERT INTO dest SELECT CASE WHEN key > 1 THEN id ELSE a END AS x, b FROM src, j;

-- name: correlated
INSERT INTO dest SELECT key, (SELECT max(j.a) FROM j WHERE j.id = src.key) AS m FROM src;

-- name: exists
INSERT INTO dest SELECT key, value FROM src WHERE EXISTS (SELECT 1 FROM j WHERE j.id = src.key);

-- name: in
INSERT INTO dest SELECT key, value FROM src WHERE key IN (SELECT id FROM j);

-- name: nested
INSERT INTO dest SELECT x, y FROM (SELECT key AS x, y FROM (SELECT key, value || 'a' AS y FROM src) AS a) AS b;

-- name: update
UPDATE dest SET v = 'x' WHERE k > 1;

-- name: delete
DELETE FROM dest WHERE k IN (SELECT key FROM src);

-- name: merge
MERGE INTO dest AS d USING src AS s ON d.k = s.key WHEN MATCHED THEN UPDATE SET v = s.value WHEN NOT MATCHED THEN INSERT (k, v) VALUES (s.key, s.value);

-- name: duplicate names
INSERT INTO dest SELECT key, key FROM src;

-- name: recursive
INSERT INTO dest WITH RECURSIVE r AS (SELECT key AS x, 1 AS n FROM src UNION ALL SELECT r.x + j.a AS x, n + 1 AS n FROM r JOIN j ON j.id = r.n) SELECT x, n FROM r;

-- name: distinct
INSERT INTO dest SELECT DISTINCT key, value FROM src;

-- name: coalesce
INSERT INTO dest SELECT coalesce(key, id) AS x, a FROM src CROSS JOIN j;

-- name: lateral
INSERT INTO dest SELECT x.id, y.v FROM j AS x, LATERAL (SELECT value AS v FROM src WHERE src.key = x.id) AS y;

-- name: pivot
CREATE TABLE n AS SELECT * FROM (SELECT key, value, id FROM src CROSS JOIN j) AS q PIVOT(SUM(id) FOR value IN ('q', 'r'));

-- name: struct field
INSERT INTO dest SELECT j.s.x AS x, j.id FROM j;

-- name: unnest
INSERT INTO dest SELECT j.id, u.x FROM j CROSS JOIN UNNEST(j.arr) AS u(x);
