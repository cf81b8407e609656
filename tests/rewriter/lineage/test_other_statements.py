"""Statements of single dialects: several tables at once, files, procedures, scripts of T-SQL."""

from __future__ import annotations

import pytest

from rewriter.lineage.scripts import trace_script
from rewriter.lineage.tables import KnownTables
from tests.rewriter.lineage.test_statements import written

CASES = {
    "INSERT of a whole table": (
        "hive",
        "INSERT INTO TABLE dest TABLE src",
        ["dest.k <- src.key", "dest.v <- src.value"],
    ),
    "UPDATE of an alias of its FROM": (
        "tsql",
        "UPDATE t SET t.v = s.value FROM dest t JOIN src s ON t.k = s.key",
        ["dest.v <- join:dest.k join:src.key src.value"],
    ),
    "UPDATE of a table that its FROM names again": (
        "tsql",
        "UPDATE dest SET v = s.value FROM dest JOIN src s ON dest.k = s.key",
        ["dest.v <- join:dest.k join:src.key src.value"],
    ),
    "UPDATE of two tables": (
        "mysql",
        "UPDATE dest t JOIN src s ON t.k = s.key SET t.v = s.value, s.value = t.v",
        [
            "dest.v <- join:dest.k join:src.key src.value",
            "src.value <- dest.v join:dest.k join:src.key",
        ],
    ),
    "UPDATE of a field": (
        "bigquery",
        "UPDATE j SET s.x = a + 1 WHERE b = 2",
        ["j.s <- !j.a filter:j.b"],
    ),
    "DELETE from two tables": (
        "mysql",
        "DELETE t, s FROM dest t JOIN src s ON t.k = s.key",
        ["dest.* <- join:dest.k join:src.key", "src.* <- join:dest.k join:src.key"],
    ),
    "SELECT INTO with a UNION": (
        "tsql",
        "SELECT key, value INTO n FROM src UNION ALL SELECT k, v FROM dest",
        ["n.key <- dest.k src.key", "n.value <- dest.v src.value"],
    ),
    "MERGE into a table that nobody has declared": (
        "spark",
        "MERGE INTO zz USING src ON zz.k = src.key WHEN NOT MATCHED THEN INSERT VALUES (src.key)",
        ["zz.key <- join:src.key join:zz.k src.key"],
    ),
    "COPY INTO a table, from a stage": (
        "snowflake",
        "COPY INTO dest (k) FROM (SELECT $1 FROM @stage/a.csv)",
        ["dest.k <- @stage/a.csv.* ?the columns of @stage/a.csv are not known"],
    ),
    "COPY INTO a file": (
        "snowflake",
        "COPY INTO 's3://b/out' FROM (SELECT key FROM src WHERE value = 'x')",
        ["s3://b/out.key <- filter:src.value src.key"],
    ),
    "UNLOAD": (
        "redshift",
        "UNLOAD ('SELECT key FROM src') TO 's3://b/out' IAM_ROLE 'r'",
        ["s3://b/out.key <- src.key"],
    ),
    "EXPORT DATA": (
        "bigquery",
        "EXPORT DATA OPTIONS (uri = 'gs://b/x', format = 'CSV') AS SELECT key FROM src",
        ["gs://b/x.key <- src.key"],
    ),
    "LOAD DATA into a partition": (
        "hive",
        "LOAD DATA LOCAL INPATH '/in/x' INTO TABLE part PARTITION (ds = '1', hr = '2')",
        [
            "part.key <- /in/x.* ?the columns of /in/x are not known",
            "part.value <- /in/x.* ?the columns of /in/x are not known",
        ],
    ),
    "LOAD DATA INFILE": (
        "mysql",
        "LOAD DATA INFILE '/in/x' INTO TABLE dest",
        [
            "dest.k <- /in/x.* ?the columns of /in/x are not known",
            "dest.v <- /in/x.* ?the columns of /in/x are not known",
        ],
    ),
    "EXPORT and IMPORT": (
        "hive",
        "EXPORT TABLE src TO '/out/x'; IMPORT TABLE dest FROM '/out/x'",
        [
            "/out/x.key <- src.key",
            "/out/x.value <- src.value",
            "dest.k <- /out/x.* ?the columns of /out/x are not known",
            "dest.v <- /out/x.* ?the columns of /out/x are not known",
        ],
    ),
    "partitions that two tables exchange": (
        "hive",
        "ALTER TABLE dest EXCHANGE PARTITION (ds = '1') WITH TABLE src",
        ["dest.k <- src.key", "dest.v <- src.value"],
    ),
    "rows that are appended": (
        "redshift",
        "ALTER TABLE dest APPEND FROM src",
        ["dest.k <- src.key", "dest.v <- src.value"],
    ),
    "a view that fills a table": (
        "clickhouse",
        "CREATE MATERIALIZED VIEW m TO dest AS SELECT value AS v, key AS k FROM src",
        ["m.v <- src.value", "m.k <- src.key", "dest.v <- src.value", "dest.k <- src.key"],
    ),
    "a procedure": (
        "bigquery",
        (
            "CREATE PROCEDURE p.fill() BEGIN INSERT INTO dest (k) SELECT key FROM src;"
            " INSERT INTO dest (v) SELECT a FROM j; END; CALL p.fill()"
        ),
        ["dest.k <- src.key", "dest.v <- j.a"],
    ),
    "a procedure with loops and conditions": (
        "oracle",
        (
            "CREATE OR REPLACE PROCEDURE fill(n NUMBER) AS BEGIN IF n > 1 THEN"
            " UPDATE dest SET v = 'x' WHERE k = 1; END IF;"
            " FOR r IN (SELECT key FROM src) LOOP INSERT INTO dest (k) SELECT a FROM j; END LOOP;"
            " END;"
        ),
        ["dest.v <- filter:dest.k", "dest.k <- j.a"],
    ),
    "statements that no semicolon ends": (
        "tsql",
        (
            "CREATE PROCEDURE fill @x INT AS BEGIN\n"
            "  INSERT INTO dest (k) SELECT CASE WHEN key > 1 THEN key ELSE 2 END FROM src\n"
            "  UPDATE dest SET v = 'x' WHERE k = @x\n"
            "  IF @x > 1 DELETE FROM dest WHERE k = 1\n"
            "  ;WITH q AS (SELECT a FROM j) INSERT INTO dest (k) SELECT a FROM q\n"
            "  MERGE dest USING src ON k = key WHEN MATCHED THEN UPDATE SET v = value\n"
            "END\nGO\nEXEC fill 1"
        ),
        [
            "dest.k <- !src.key if:src.key",
            "dest.v <- filter:dest.k",
            "dest.* <- filter:dest.k",
            "dest.k <- j.a",
            "dest.v <- join:dest.k join:src.key src.value",
        ],
    ),
    "an output before, where outputs may name one another": (
        "snowflake",
        "INSERT INTO dest SELECT key + 1 AS x, x FROM src",
        ["dest.k <- !src.key", "dest.v <- !src.key"],
    ),
    "an output that is named like a column that nobody has declared": (
        "snowflake",
        "INSERT INTO dest SELECT a || b AS a, a FROM unseen",
        ["dest.k <- !unseen.a !unseen.b", "dest.v <- unseen.a"],
    ),
    "an output before, where none may name another": (
        "postgres",
        "INSERT INTO dest SELECT key + 1 AS x, x FROM src",
        ["dest.k <- !src.key", "dest.v <- ?there is no column x in what the query reads"],
    ),
    "a filter on a window": (
        "spark",
        (
            "INSERT INTO dest SELECT key, value FROM (SELECT *, row_number() OVER"
            " (PARTITION BY value ORDER BY key) AS n FROM src) WHERE n = 1"
        ),
        [
            "dest.k <- filter:src.key filter:src.value src.key",
            "dest.v <- filter:src.key filter:src.value src.value",
        ],
    ),
    "functions that give several columns": (
        "hive",
        "INSERT INTO dest SELECT json_tuple(value, 'a', 'b') AS (x, y) FROM src",
        ["dest.k <- !src.value", "dest.v <- !src.value"],
    ),
    "a list of columns before a partition that the last value names": (
        "hive",
        "INSERT INTO part PARTITION (ds = '1', hr) (value, key) SELECT value, key, a FROM src, j",
        ["part.value <- src.value", "part.key <- src.key", "part.hr <- j.a", "part.ds <-"],
    ),
    "entries of an array and where they stand": (
        "bigquery",
        "INSERT INTO dest SELECT e.x, at FROM j, UNNEST(arr) AS e WITH OFFSET AS at",
        ["dest.k <- !j.arr", "dest.v <- !j.arr"],
    ),
    "whole rows": (
        "postgres",
        "INSERT INTO dest SELECT (r).key, row_to_json(r) FROM src AS r",
        ["dest.k <- src.key", "dest.v <- !src.key !src.value"],
    ),
    "a cached query": (
        "spark",
        "CACHE TABLE c AS SELECT key, a FROM src, j; INSERT INTO dest SELECT * FROM c",
        ["c.key <- src.key", "c.a <- j.a", "dest.k <- c.key", "dest.v <- c.a"],
    ),
    "levels of a hierarchy": (
        "oracle",
        "INSERT INTO dest (k) SELECT a FROM j START WITH b = 1 CONNECT BY PRIOR id = b",
        ["dest.k <- filter:j.b filter:j.id j.a"],
    ),
    "all columns that are no aggregates": (
        "duckdb",
        "INSERT INTO dest SELECT value, sum(key) FROM src GROUP BY ALL",
        ["dest.k <- group:src.value src.value", "dest.v <- +src.key group:src.value"],
    ),
    "all columns by a star in COLUMNS": (
        "duckdb",
        "INSERT INTO dest SELECT COLUMNS(*) FROM src",
        ["dest.k <- src.key", "dest.v <- src.value"],
    ),
    "functions, and blocks in a string": (
        "postgres",
        (
            "CREATE FUNCTION f() RETURNS void AS $$ BEGIN INSERT INTO dest SELECT key, value FROM"
            " src; END $$ LANGUAGE plpgsql; DO $x$ BEGIN DELETE FROM dest; END $x$"
        ),
        ["dest.k <- src.key", "dest.v <- src.value", "dest.* <-"],
    ),
    "a procedure in a string, which is called": (
        "snowflake",
        (
            "CREATE PROCEDURE p() RETURNS INT LANGUAGE SQL AS $$ BEGIN INSERT INTO dest (k) SELECT"
            " key FROM src; RETURN 1; END $$; CALL p()"
        ),
        ["dest.k <- src.key"],
    ),
    "a procedure that no SQL says": (
        "snowflake",
        "CREATE PROCEDURE q() LANGUAGE PYTHON AS $$ x $$; CALL q()",
        ["unknown: what the procedure writes is not known"],
    ),
    "the first statement of a block": (
        "bigquery",
        "BEGIN INSERT INTO dest SELECT key, value FROM src; END",
        ["dest.k <- src.key", "dest.v <- src.value"],
    ),
    "windows by name": (
        "duckdb",
        (
            "INSERT INTO dest SELECT row_number() OVER w, sum(key) OVER (w ORDER BY value)"
            " FROM src WINDOW w AS (PARTITION BY key)"
        ),
        ["dest.k <- window:src.key", "dest.v <- +src.key window:src.key window:src.value"],
    ),
    "columns of a stage by their place": (
        "snowflake",
        "CREATE TABLE c AS SELECT $1 AS a, $2:x AS b FROM @stage/f.csv",
        ["c.a <- @stage/f.csv.$1", "c.b <- !@stage/f.csv.$2"],
    ),
    "a table of values that OUTPUT fills": (
        "tsql",
        "INSERT INTO dest OUTPUT inserted.k INTO seen (a) SELECT key, value FROM src",
        ["dest.k <- src.key", "dest.v <- src.value", "seen.a <- dest.k"],
    ),
    "what OUTPUT keeps of the rows that are changed": (
        "tsql",
        "UPDATE dest SET v = 'x' OUTPUT deleted.v INTO seen (a) WHERE k > 3",
        ["dest.v <- filter:dest.k", "seen.a <- dest.v filter:dest.k"],
    ),
    "an INSERT of what is not there": (
        "postgres",
        "INSERT INTO dest SELECT key, value FROM src ON CONFLICT (k) DO NOTHING",
        [
            "dest.k <- join:dest.k join:src.key src.key",
            "dest.v <- join:dest.k join:src.key src.value",
        ],
    ),
    "a MERGE that inserts some columns": (
        "postgres",
        (
            "MERGE INTO dest USING src ON k = key WHEN NOT MATCHED AND value > 'a'"
            " THEN INSERT (v) VALUES (value)"
        ),
        [
            "dest.v <- filter:src.value join:dest.k join:src.key src.value",
            "dest.k <- filter:src.value join:dest.k join:src.key",
        ],
    ),
    "fields of a struct that is made on the way": (
        "spark",
        (
            "CREATE TABLE c AS SELECT q.s.p, q.s.r.x AS x, q.s.r AS r FROM"
            " (SELECT struct(a AS p, struct(b + 1 AS x, id) AS r) AS s FROM j) q"
        ),
        ["c.p <- j.a", "c.x <- !j.b", "c.r <- !j.b !j.id"],
    ),
    "what an UPDATE in a WITH returns of the table beside it": (
        "postgres",
        (
            "WITH u AS (UPDATE dest SET v = b FROM j WHERE k < a RETURNING k, id)"
            " INSERT INTO dest (k, v) SELECT k, id FROM u"
        ),
        [
            "dest.v <- filter:dest.k filter:j.a j.b j.id",
            "dest.k <- dest.k filter:dest.k filter:j.a",
        ],
    ),
    "a value of the row before": (
        "hive",
        "CREATE TABLE c AS SELECT lag(a, 1, 0) OVER (PARTITION BY id ORDER BY b) AS a FROM j",
        ["c.a <- !j.a window:j.b window:j.id"],
    ),
    "a row for each element, without a name": (
        "hive",
        "CREATE TABLE c AS SELECT explode(arr) FROM j; CREATE TABLE d AS SELECT col FROM c",
        ["c.col <- !j.arr", "d.col <- c.col"],
    ),
    "a variable that is a table": (
        "tsql",
        "INSERT INTO dest (k) SELECT z FROM @rows",
        ["dest.k <- rows.z"],
    ),
    "REPLACE INTO": (
        "mysql",
        "REPLACE INTO dest SELECT `key`, value FROM src",
        ["dest.k <- src.key", "dest.v <- src.value"],
    ),
    "FINAL": (
        "clickhouse",
        "INSERT INTO dest SELECT key, value FROM src FINAL",
        ["dest.k <- src.key", "dest.v <- src.value"],
    ),
    "a stream": (
        "databricks",
        "CREATE STREAMING TABLE c AS SELECT * FROM STREAM(src)",
        ["c.key <- src.key", "c.value <- src.value"],
    ),
    "the column of a function without a name": (
        "hive",
        "CREATE TABLE c AS SELECT * FROM src LATERAL VIEW explode(split(value, ',')) e",
        ["c.key <- src.key", "c.value <- src.value", "c.col <- !src.value"],
    ),
    "all rows": ("teradata", "DELETE dest ALL", ["dest.* <-"]),
    "functions whose columns or sources nobody knows": (
        "postgres",
        (
            "CREATE TABLE c AS SELECT * FROM my_rows(1);"
            " INSERT INTO dest SELECT * FROM src, my_lines(value)"
        ),
        [
            "c.* <- ?what the function my_rows reads is not known",
            "dest.k <- !src.value src.key src.value ?its columns are those of a function",
            "dest.v <- !src.value src.key src.value ?its columns are those of a function",
        ],
    ),
    "what a query gave before": (
        "snowflake",
        "CREATE TABLE c AS SELECT * FROM TABLE(RESULT_SCAN(LAST_QUERY_ID()))",
        ["c.* <- ?what the function result_scan reads is not known"],
    ),
}
UNKNOWN = {
    "CREATE TABLE t AS PIVOT s ON a USING sum(b)": "duckdb",
    "CALL other_procedure()": "snowflake",
    "CREATE RULE r AS ON INSERT TO s DO ALSO INSERT INTO t VALUES (1)": "postgres",
    "EXPLAIN ANALYZE INSERT INTO t SELECT a FROM s": "postgres",
    "SELECT key INTO OUTFILE '/out' FROM src": "mysql",
    "ALTER TABLE t UPDATE a = 1 WHERE b = 2": "clickhouse",
    "CREATE TASK t WAREHOUSE = w AS INSERT INTO a SELECT * FROM b": "snowflake",
}
MALFORMED = {
    "INSERT INTO FROM SELECT * FROM s": "postgres",
    "LOAD DATA ds": "mysql",
    "CACHE TABLE FROM t AS t SELECT a FROM s": "tsql",
    "EXPORT DATA OPTIONS (uri = 'gs://x')": "bigquery",
    "EXPORT DATA SET AS SELECT 1": "bigquery",
    "UNLOAD (ELSE '') TO 'f'": "tsql",
    "DELETE VALUES x FROM t JOIN s ON x": "oracle",
    "SELECT * FROM t MATCH_RECOGNIZE (PATTERN ( ) DEFINE A AS x > 1)": "snowflake",
}
"""What the parser takes, or fails on, although it is not whole."""
SILENT = {
    "INSERT INTO t DEFAULT VALUES": "postgres",
    "CREATE ROLE r": "snowflake",
    "SET hive.exec.dynamic.partition = true": "hive",
    "GRANT SELECT ON t TO u": "postgres",
    "LOAD spatial": "duckdb",
    "BEGIN": "postgres",
    "END": "tsql",
}


@pytest.mark.parametrize("case", CASES)
def test_sources_are_found(case: str) -> None:
    dialect, sql, expected = CASES[case]
    assert written(sql, dialect) == expected


@pytest.mark.parametrize("sql", UNKNOWN)
def test_what_may_write_and_cannot_be_followed_is_unknown(sql: str) -> None:
    (statement,) = trace_script(sql, KnownTables(UNKNOWN[sql]))
    assert statement.unknown is not None


@pytest.mark.parametrize("sql", MALFORMED)
def test_what_is_not_whole_keeps_no_other_statement_from_being_read(sql: str) -> None:
    dialect = MALFORMED[sql]
    *_, last = trace_script(f"{sql}; INSERT INTO dest (k) SELECT 1", KnownTables(dialect))
    assert [(target.table, target.column) for target in last.targets] == [("dest", "k")]


@pytest.mark.parametrize("sql", SILENT)
def test_what_writes_nothing_is_not_unknown(sql: str) -> None:
    (statement,) = trace_script(sql, KnownTables(SILENT[sql]))
    assert (statement.targets, statement.unknown) == ((), None)


REPEATS = {
    "SELECT DISTINCT key FROM src LEFT JOIN j ON a = key": "group:src.key src.key",
    "SELECT key FROM src LEFT JOIN j ON a = key": "join:j.a join:src.key src.key",
    "SELECT key FROM src LEFT JOIN j ON a = key GROUP BY key": "group:src.key src.key",
    "SELECT DISTINCT key FROM (SELECT key FROM src LEFT JOIN j ON a = key LIMIT 1)": (
        "group:src.key join:j.a join:src.key src.key"
    ),
    "SELECT max(key) FROM src LEFT JOIN j ON a = key WHERE value = 'x'": (
        "+src.key filter:src.value"
    ),
    "SELECT sum(key) FROM src LEFT JOIN j ON a = key WHERE value = 'x'": (
        "+src.key filter:src.value join:j.a join:src.key"
    ),
    "SELECT count(*) FROM src LEFT JOIN j ON a = key GROUP BY value": (
        "group:src.value join:j.a join:src.key"
    ),
    "SELECT DISTINCT b FROM src LEFT JOIN j ON a = key": ("group:j.b j.b join:j.a join:src.key"),
    "SELECT key FROM src LEFT JOIN j ON a = key EXCEPT SELECT 1": "filter:src.key src.key",
    "SELECT key FROM src, (SELECT max(a) AS m FROM j WHERE b > 1)": "src.key",
    "SELECT m FROM src, (SELECT max(a) AS m FROM j WHERE b > 1)": "+j.a filter:j.b",
    "SELECT key FROM src WHERE EXISTS (SELECT max(a) FROM j WHERE b = key)": "src.key",
    "SELECT key FROM src WHERE key IN (SELECT id FROM j LEFT JOIN dest ON k = a)": (
        "filter:j.id filter:src.key src.key"
    ),
    "SELECT key FROM src JOIN j ON a = key GROUP BY key": (
        "group:src.key join:j.a join:src.key src.key"
    ),
    "SELECT DISTINCT sum(key) OVER () FROM src LEFT JOIN j ON a = value": (
        "+src.key group:src.key join:j.a join:src.value"
    ),
    "SELECT value FROM src LEFT JOIN j ON a = key GROUP BY value HAVING count(*) > 1": (
        "group:src.value join:j.a join:src.key src.value"
    ),
}


@pytest.mark.parametrize("sql", REPEATS)
def test_what_only_repeats_rows_is_undone_where_equal_rows_become_one(sql: str) -> None:
    (line,) = written(f"INSERT INTO dest (k) {sql}", "duckdb")
    assert line == f"dest.k <- {REPEATS[sql]}"
