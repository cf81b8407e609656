-- Texts on which parser, rewriter or a store's SQL once failed without a code, each under its dialect.

-- duckdb
CREATE TABLE unit (price INTEGER, amount_sold AS (price) PRIMARY KEY);
CREATE VIEW v AS SELECT * FROM (SELECT * FROM (t1 CROSS JOIN t2) same) ss, t3;
ALTER TABLE main.t SET;
ALTER TABLE TABLE_CHANGES('main.t', 1000, 2000) ALTER COLUMN a SET DATA TYPE BIGINT;
ALTER TABLE main.t ADD CONSTRAINT one UNIQUE;
CREATE TABLE main.c (k INT PRIMARY KEY, x INT REFERENCES (a), v TEXT);
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a IN INTEGER, b VARCHAR);
RESTORE TABLE main.t TO VERSION AS OF JOIN main.u AS u ON 1000;
INSERT INTO main.t VALUES (1, 10, 'x'), (v1 < -> v2);
INSERT INTO t VALUES (1, {: 1, 'k': 5}, 9);
SELECT SORT_ARRAY(SELECT c AS c FROM t);
SELECT t.k FROM main.t AS t ANTI JOIN main.u AS u ON (SELECT t.k FROM main.t AS t);
SELECT * FROM (SELECT * FROM t) PIVOT(AVG(c1) AS ac1 FOR );
PIVOT main.sales IN (2000, 2010) USING sum(amount) GROUP BY city;
SELECT (SELECT MAKE_DATE('2020', 01));
WITH y AS (SELECT * FROM (SELECT * FROM y AS y2) AS z CROSS JOIN SELECT * FROM y AS y2) SELECT * FROM y;
CREATE SCHEMA UNNEST(SEQUENCE(a, UNNEST(SEQUENCE(a, b))));
SELECT BIT_AND((SELECT FROM t)) FROM t;
ALTER TABLE main.main DROP COLUMN 30;

-- hive
DELETE SELECT FROM main.t FOR SYSTEM_VERSION AS OF 1000;
SELECT SETVAL('s', MAX(CAST('2026-05-01 12:00' AS TIMESTAMP)), TRUE) FROM main.t;
FROM main.u INSERT INTO main.t SELECT k, n, (FROM main.u INSERT INTO main.t SELECT k, n, 'b');

-- spark
SELECT * FROM x CROSS JOIN LATERAL (SELECT pos - 1 AS pos, ARRAY(ARRAY('val')), value FROM POSEXPLODE(MAP(ARRAY(pos), ARRAY('val'))) AS t(pos, pos, value));

-- mysql
CREATE TABLE main VALUES t (a);
SET VARIABLE IF JOIN main . = JOIN main . u AS u ON u . t = t . k;
INSERT INTO main.t VALUES (1, 11, 'n') ON DUPLICATE KEY UPDATE a = VALUES();

-- postgres
SELECT 'testa 1' NOT ILIKE ALL ();
CREATE TYPE main.mood AS IDENTITY ('sad', 'ok');
EXECUTE named ( := 50 );
ALTER TABLE main.main RENAME TO SELECT renamed VIEW;

-- ansi
SELECT CAST(x AS ARRAY<ARRAY<INT>[3]>[3]);
