"""What each kind of statement writes, and where each column comes from, clause by clause."""

from __future__ import annotations

import pytest

from rewriter.lineage.scripts import trace_script
from rewriter.lineage.sources import DIRECT
from rewriter.lineage.tables import KnownTables

TABLES = """
CREATE TABLE src (key INT, value STRING);
CREATE TABLE part (key INT, value STRING) PARTITIONED BY (ds STRING, hr STRING);
CREATE TABLE dest (k INT, v STRING);
CREATE TABLE j (id INT, a INT, b INT, s STRUCT<x: INT, y: INT>, arr ARRAY<INT>);
"""
SHORT = {
    "IDENTITY": "",
    "TRANSFORMATION": "!",
    "AGGREGATION": "+",
    "JOIN": "join:",
    "FILTER": "filter:",
    "GROUP_BY": "group:",
    "SORT": "sort:",
    "WINDOW": "window:",
    "CONDITIONAL": "if:",
}


def written(sql: str, dialect: str, *, expands: bool = False) -> list[str]:
    """``t.c <- sources`` for each column written: ``x`` as it is, ``!x`` made of, ``+x`` summed."""
    tables = KnownTables(dialect, expands=expands)
    declared = KnownTables("hive")
    assert all(t.unknown is None for t in trace_script(TABLES, declared))
    tables.columns |= declared.columns
    tables.partitions |= declared.partitions
    lines = []
    for statement in trace_script(sql, tables):
        if statement.unknown is not None:
            lines.append(f"unknown: {statement.unknown}")
        for target in statement.targets:
            said = sorted(
                f"{SHORT[s.subtype]}{s.table}.{s.column}{'*' if s.masking else ''}"
                for s in target.sources
            )
            unknown = f" ?{target.unknown}" if target.unknown is not None else ""
            sources = "".join(f" {source}" for source in said)
            lines.append(f"{target.table}.{target.column} <-{sources}{unknown}")
    return lines


CASES = {
    "columns that are dropped": (
        "duckdb",
        "ALTER TABLE dest DROP COLUMN v; CREATE TABLE n AS SELECT * FROM dest",
        ["n.k <- dest.k"],
    ),
    "a DELETE in a WITH": (
        "postgres",
        (
            "WITH gone AS (DELETE FROM src WHERE key > 3 RETURNING key, value)"
            " INSERT INTO dest SELECT key, value FROM gone"
        ),
        [
            "src.* <- filter:src.key",
            "dest.k <- filter:src.key src.key",
            "dest.v <- filter:src.key src.value",
        ],
    ),
    "an UPDATE and an INSERT in a WITH, which return nothing": (
        "postgres",
        (
            "WITH u AS (UPDATE dest SET v = value FROM src WHERE k = key),"
            " i AS (INSERT INTO dest (k) SELECT a FROM j) SELECT 1"
        ),
        [
            "dest.v <- filter:dest.k filter:src.key src.value",
            "dest.k <- j.a",
        ],
    ),
    "a WITH that changes a table before a UNION": (
        "postgres",
        (
            "WITH i AS (INSERT INTO dest (k) SELECT a FROM j RETURNING k)"
            " SELECT k FROM i UNION ALL SELECT 1"
        ),
        ["dest.k <- j.a"],
    ),
    "a WITH that cannot be followed": (
        "postgres",
        (
            "WITH bad AS (SELECT 1, 2 UNION SELECT 3),"
            " gone AS (DELETE FROM src RETURNING key) SELECT * FROM bad;"
            " INSERT INTO dest (k) SELECT key FROM src"
        ),
        None,
    ),
    "a materialized view": (
        "postgres",
        "CREATE MATERIALIZED VIEW m AS SELECT value, count(*) AS n FROM src GROUP BY value",
        ["m.value <- group:src.value src.value", "m.n <- group:src.value"],
    ),
    "values in structs and maps": (
        "duckdb",
        "INSERT INTO j (s, arr, id) SELECT {'x': key}, MAP {value: key}, row(x := key) FROM src",
        [
            "j.s <- !src.key",
            "j.arr <- !src.key !src.value",
            "j.id <- !src.key",
        ],
    ),
    "columns by a pattern": (
        "duckdb",
        "CREATE TABLE n AS SELECT COLUMNS('k.*') FROM src",
        ["n.columns('k.*') <- ?COLUMNS('k.*') means columns by a pattern"],
    ),
    "a script with its names in no parentheses": (
        "hive",
        (
            "INSERT OVERWRITE TABLE dest SELECT TRANSFORM(*) USING 'cat' AS k INT, v STRING"
            " FROM src WHERE key > 1"
        ),
        [
            "dest.k <- !src.key !src.value filter:src.key",
            "dest.v <- !src.key !src.value filter:src.key",
        ],
    ),
    "MAP and REDUCE": (
        "hive",
        (
            "FROM (FROM src MAP key, CAST(key AS STRING) USING 'cat' DISTRIBUTE BY key) m"
            " INSERT OVERWRITE TABLE dest REDUCE m.key USING 'tac' AS k, v"
            " INSERT OVERWRITE TABLE dest SELECT MAP(m.key, 1), m.value"
        ),
        [
            "dest.k <- !src.key sort:src.key",
            "dest.v <- !src.key sort:src.key",
            "dest.k <- !src.key sort:src.key",
            "dest.v <- !src.key sort:src.key",
        ],
    ),
    "joined queries that begin with FROM": (
        "hive",
        (
            "FROM (FROM (FROM src SELECT key AS c1) a JOIN (FROM j SELECT id AS c2) b"
            " ON a.c1 = b.c2 SELECT a.c1, b.c2) c INSERT OVERWRITE TABLE dest SELECT c.c1, c.c2"
        ),
        [
            "dest.k <- join:j.id join:src.key src.key",
            "dest.v <- j.id join:j.id join:src.key",
        ],
    ),
    "tables that are dropped": (
        "mysql",
        "DROP TABLE dest, src; CREATE TABLE n AS SELECT * FROM src",
        ["n.* <- src.* ?the columns of src are not known"],
    ),
    "a partition that is written if it is not there": (
        "hive",
        (
            "INSERT OVERWRITE TABLE part PARTITION (ds = 'x', hr = '1') IF NOT EXISTS"
            " SELECT * FROM src"
        ),
        ["part.key <- src.key", "part.value <- src.value", "part.ds <-", "part.hr <-"],
    ),
    "a table that is written if it is not there": (
        "hive",
        "INSERT OVERWRITE TABLE dest IF NOT EXISTS SELECT * FROM src",
        ["dest.k <- src.key", "dest.v <- src.value"],
    ),
    "columns that INSERT leaves out": (
        "hive",
        "INSERT INTO dest (v) SELECT value FROM src",
        ["dest.v <- src.value", "dest.k <-"],
    ),
    "constraints of columns": (
        "hive",
        (
            "CREATE TRANSACTIONAL TABLE c (a INT NOT NULL ENABLE NOVALIDATE RELY, b"
            " STRUCT<x: INT, y: ARRAY<INT>> DEFAULT 'x', PRIMARY KEY (a) DISABLE NOVALIDATE)"
            " STORED AS ORC; INSERT INTO c SELECT * FROM src"
        ),
        ["c.a <- src.key", "c.b <- src.value"],
    ),
    "a table whose columns are those of its files": (
        "hive",
        (
            "CREATE TABLE c PARTITIONED BY (d INT) ROW FORMAT SERDE 'x' STORED AS AVRO;"
            " INSERT INTO c PARTITION (d) SELECT value, key AS d FROM src"
        ),
        ["c.value <- src.value", "c.d <- src.key"],
    ),
    "a materialised view and its rows once more": (
        "hive",
        (
            "CREATE MATERIALIZED VIEW m DISABLE REWRITE PARTITIONED ON (value) COMMENT 'all'"
            " STORED AS ORC AS SELECT key, value FROM src; ALTER MATERIALIZED VIEW m REBUILD"
        ),
        ["m.key <- src.key", "m.value <- src.value"] * 2,
    ),
    "a partitioned view": (
        "hive",
        "CREATE VIEW m (k COMMENT 'c', v) PARTITIONED ON (v) AS SELECT key, value FROM src",
        ["m.k <- src.key", "m.v <- src.value"],
    ),
    "a materialised view that is refreshed": (
        "postgres",
        (
            "CREATE MATERIALIZED VIEW m AS SELECT key FROM src;"
            " REFRESH MATERIALIZED VIEW CONCURRENTLY m"
        ),
        ["m.key <- src.key"] * 2,
    ),
    "DEFAULT and the number of a group": (
        "hive",
        (
            "UPDATE dest SET k = DEFAULT;"
            " CREATE TABLE c AS SELECT key, grouping__id AS g FROM src GROUP BY key WITH CUBE"
        ),
        ["dest.k <-", "c.key <- group:src.key src.key", "c.g <- group:src.key"],
    ),
    "a schema that is dropped": (
        "hive",
        (
            "CREATE TABLE src.t (a INT); CREATE TABLE n AS SELECT * FROM src.t;"
            " DROP DATABASE src CASCADE; CREATE TABLE n AS SELECT * FROM src.t;"
            " INSERT INTO dest SELECT * FROM src"
        ),
        [
            "n.a <- src.t.a",
            "n.* <- src.t.* ?the columns of src.t are not known",
            "dest.k <- src.key",
            "dest.v <- src.value",
        ],
    ),
    "columns that are replaced, renamed and added": (
        "hive",
        (
            "ALTER TABLE dest REPLACE COLUMNS (a INT, b INT); ALTER TABLE dest CHANGE b c INT;"
            " ALTER TABLE part ADD COLUMNS (more INT);"
            " INSERT INTO dest SELECT key, more FROM part;"
            " CREATE TABLE n AS SELECT * FROM part"
        ),
        [
            "dest.a <- part.key",
            "dest.c <- part.more",
            "n.key <- part.key",
            "n.value <- part.value",
            "n.more <- part.more",
            "n.ds <- part.ds",
            "n.hr <- part.hr",
        ],
    ),
    "a column that is renamed without the word COLUMN": (
        "postgres",
        "ALTER TABLE dest RENAME k TO x; CREATE TABLE n AS SELECT * FROM dest",
        ["n.x <- dest.x", "n.v <- dest.v"],
    ),
    "a column that CHANGE renames": (
        "mysql",
        "ALTER TABLE dest CHANGE k x INT; CREATE TABLE n AS SELECT * FROM dest",
        ["n.x <- dest.x", "n.v <- dest.v"],
    ),
    "another query for a view": (
        "hive",
        (
            "CREATE VIEW w AS SELECT key FROM src; ALTER VIEW w AS SELECT a FROM j;"
            " CREATE TABLE n AS SELECT * FROM w"
        ),
        ["w.key <- src.key", "w.a <- j.a", "n.a <- w.a"],
    ),
    "rows of several widths": (
        "hive",
        "INSERT INTO dest VALUES (1, 'x'), (2)",
        [
            "dest.k <- ?the rows of VALUES differ in their number of values",
            "dest.v <- ?the rows of VALUES differ in their number of values",
        ],
    ),
    "star": (
        "hive",
        "INSERT INTO dest SELECT * FROM src",
        ["dest.k <- src.key", "dest.v <- src.value"],
    ),
    "columns by name": (
        "hive",
        "INSERT INTO dest (v, k) SELECT value, key FROM src",
        ["dest.v <- src.value", "dest.k <- src.key"],
    ),
    "filter": (
        "hive",
        "INSERT OVERWRITE TABLE dest SELECT key, upper(value) FROM src WHERE value > 'a'",
        ["dest.k <- filter:src.value src.key", "dest.v <- !src.value filter:src.value"],
    ),
    "multi-insert with dynamic partition": (
        "hive",
        (
            "FROM src INSERT OVERWRITE TABLE dest SELECT key, value WHERE key < 1"
            " INSERT INTO TABLE part PARTITION (ds = 'x', hr) SELECT key, value, value"
        ),
        [
            "dest.k <- filter:src.key src.key",
            "dest.v <- filter:src.key src.value",
            "part.key <- src.key",
            "part.value <- src.value",
            "part.hr <- src.value",
            "part.ds <-",
        ],
    ),
    "script": (
        "hive",
        (
            "FROM (SELECT TRANSFORM(key, value) USING 'cat' AS (k, v) FROM src) t"
            " INSERT OVERWRITE TABLE dest SELECT k, v"
        ),
        ["dest.k <- !src.key !src.value", "dest.v <- !src.key !src.value"],
    ),
    "lateral view and a field": (
        "hive",
        "INSERT INTO dest SELECT x, s.y FROM j LATERAL VIEW explode(arr) t AS x",
        ["dest.k <- !j.arr", "dest.v <- !j.s"],
    ),
    "join, aggregate, window and unnamed columns": (
        "hive",
        (
            "CREATE TABLE c AS SELECT a.key, count(*), sum(b.a) AS n FROM src a JOIN j b"
            " ON a.key = b.id GROUP BY a.key"
        ),
        [
            "c.key <- group:src.key join:j.id join:src.key src.key",
            "c._c1 <- group:src.key join:j.id join:src.key",
            "c.n <- +j.a group:src.key join:j.id join:src.key",
        ],
    ),
    "window": (
        "spark",
        "INSERT INTO dest SELECT key, max(value) OVER (PARTITION BY key ORDER BY value) FROM src",
        ["dest.k <- src.key", "dest.v <- +src.value window:src.key window:src.value"],
    ),
    "how a table lies on disk": (
        "hive",
        (
            "CREATE TABLE c SKEWED BY (a) ON (1) STORED AS DIRECTORIES AS SELECT key AS a FROM src;"
            " CREATE TABLE d (p INT) CLUSTERED BY (p) SORTED BY (p) INTO 2 BUCKETS;"
            " INSERT INTO d SELECT * FROM c"
        ),
        ["c.a <- src.key", "d.p <- c.a"],
    ),
    "union by position": (
        "spark",
        (
            "WITH q AS (SELECT key AS x, value FROM src"
            " UNION ALL SELECT id, CAST(a AS STRING) FROM j)"
            " INSERT INTO dest SELECT x, value FROM q"
        ),
        ["dest.k <- j.id src.key", "dest.v <- !j.a src.value"],
    ),
    "union by name": (
        "duckdb",
        (
            "INSERT INTO dest SELECT k, v FROM (SELECT key AS k, value AS v FROM src"
            " UNION ALL BY NAME SELECT a AS v, id AS k FROM j)"
        ),
        ["dest.k <- j.id src.key", "dest.v <- j.a src.value"],
    ),
    "EXCEPT, which compares whole rows": (
        "duckdb",
        "INSERT INTO dest SELECT key, value FROM src EXCEPT SELECT id, 'x' FROM j",
        [
            "dest.k <- filter:j.id filter:src.key filter:src.value src.key",
            "dest.v <- filter:j.id filter:src.key filter:src.value src.value",
        ],
    ),
    "UNION and DISTINCT, which compare whole rows": (
        "hive",
        (
            "INSERT INTO dest (k) SELECT key FROM (SELECT key, value FROM src UNION"
            " SELECT DISTINCT a, 'x' FROM j) u"
        ),
        [
            "dest.k <- group:j.a group:src.key group:src.value j.a src.key",
            "dest.v <- group:j.a group:src.key group:src.value",
        ],
    ),
    "recursion": (
        "duckdb",
        (
            "CREATE TABLE c AS WITH RECURSIVE r AS (SELECT key AS x, 1 AS n FROM src UNION ALL"
            " SELECT r.x + j.a, n + 1 FROM r JOIN j ON j.id = r.n) SELECT x FROM r"
        ),
        ["c.x <- !j.a !src.key join:j.id src.key"],
    ),
    "using": (
        "duckdb",
        (
            "CREATE TABLE c AS SELECT key, a FROM src FULL JOIN (SELECT id AS key, a FROM j) q"
            " USING (key)"
        ),
        [
            "c.key <- !j.id !src.key join:j.id join:src.key",
            "c.a <- j.a join:j.id join:src.key",
        ],
    ),
    "star over using": (
        "duckdb",
        "CREATE TABLE c AS SELECT * FROM src JOIN (SELECT id AS key FROM j) q USING (key)",
        [
            "c.key <- join:j.id join:src.key src.key",
            "c.value <- join:j.id join:src.key src.value",
        ],
    ),
    "star without and with": (
        "duckdb",
        "INSERT INTO dest SELECT * REPLACE (key + 1 AS key) FROM src",
        ["dest.k <- !src.key", "dest.v <- src.value"],
    ),
    "correlated queries": (
        "duckdb",
        (
            "CREATE TABLE c AS SELECT (SELECT max(a) FROM j WHERE j.id = src.key) AS m FROM src"
            " WHERE EXISTS (SELECT 1 FROM j WHERE j.b = src.key)"
        ),
        ["c.m <- +j.a filter:j.b filter:j.id filter:src.key"],
    ),
    "lateral": (
        "postgres",
        (
            "INSERT INTO dest SELECT x.id, y.v FROM j AS x, LATERAL (SELECT value AS v FROM src"
            " WHERE src.key = x.id) AS y"
        ),
        [
            "dest.k <- filter:j.id filter:src.key j.id",
            "dest.v <- filter:j.id filter:src.key src.value",
        ],
    ),
    "case": (
        "duckdb",
        "INSERT INTO dest (v) SELECT CASE WHEN key > 1 THEN value ELSE 'x' END FROM src",
        ["dest.v <- !src.value if:src.key"],
    ),
    "masking": (
        "duckdb",
        "INSERT INTO dest (v) SELECT md5(value) FROM src",
        ["dest.v <- !src.value*"],
    ),
    "lambda": (
        "duckdb",
        "INSERT INTO dest (k) SELECT list_sum(list_transform(arr, x -> x + a)) FROM j",
        ["dest.k <- !j.a !j.arr"],
    ),
    "pivot": (
        "spark",
        (
            "CREATE TABLE c AS SELECT * FROM (SELECT key, value, a FROM src, j)"
            " PIVOT (sum(a) FOR value IN ('q', 'r'))"
        ),
        [
            "c.key <- group:src.key src.key",
            "c.q <- +j.a group:src.key if:src.value",
            "c.r <- +j.a group:src.key if:src.value",
        ],
    ),
    "update": (
        "postgres",
        "UPDATE dest SET v = s.value || v FROM src AS s WHERE s.key = dest.k",
        ["dest.v <- !dest.v !src.value filter:dest.k filter:src.key"],
    ),
    "delete": (
        "postgres",
        "DELETE FROM dest WHERE k IN (SELECT key FROM src)",
        ["dest.* <- filter:dest.k filter:src.key"],
    ),
    "merge": (
        "spark",
        (
            "MERGE INTO dest t USING src s ON t.k = s.key WHEN MATCHED THEN UPDATE SET v = s.value"
            " WHEN NOT MATCHED THEN INSERT (k, v) VALUES (s.key, 'new')"
        ),
        [
            "dest.v <- join:dest.k join:src.key src.value",
            "dest.k <- join:dest.k join:src.key src.key",
        ],
    ),
    "merge of all columns": (
        "spark",
        (
            "MERGE INTO dest t USING (SELECT key AS k, value AS v FROM src) s ON t.k = s.k"
            " WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        ),
        [
            "dest.k <- join:dest.k join:src.key src.key",
            "dest.v <- join:dest.k join:src.key src.value",
        ],
    ),
    "upsert": (
        "postgres",
        (
            "INSERT INTO dest (k, v) SELECT key, value FROM src"
            " ON CONFLICT (k) DO UPDATE SET v = excluded.v || dest.v"
        ),
        [
            "dest.k <- join:dest.k join:src.key src.key",
            "dest.v <- !dest.v !src.value join:dest.k join:src.key src.value",
        ],
    ),
    "like": ("hive", "CREATE TABLE c LIKE src", ["c.key <- src.key", "c.value <- src.value"]),
    "select into": (
        "tsql",
        "SELECT key INTO c FROM src",
        ["c.key <- src.key"],
    ),
    "copy to": ("duckdb", "COPY (SELECT key FROM src) TO 'f.csv'", ["f.csv.key <- src.key"]),
    "use": (
        "hive",
        "USE one; CREATE TABLE c AS SELECT a FROM two.t; INSERT INTO d SELECT a FROM c",
        ["one.c.a <- two.t.a", "one.d.a <- one.c.a"],
    ),
    "altered": (
        "duckdb",
        (
            "ALTER TABLE src ADD COLUMN z INT; ALTER TABLE src RENAME TO src2;"
            " CREATE TABLE c AS SELECT * FROM src2"
        ),
        ["c.key <- src2.key", "c.value <- src2.value", "c.z <- src2.z"],
    ),
    "same names": (
        "spark",
        "CREATE TABLE c AS SELECT key, value AS key FROM src",
        ["c.key <- src.key", "c.key <- src.value"],
    ),
    "queries write nothing": ("duckdb", "SELECT * FROM src", []),
    "star of an unknown table": (
        "duckdb",
        "CREATE TABLE c AS SELECT * FROM nobody",
        ["c.* <- nobody.* ?the columns of nobody are not known"],
    ),
    "column of one unknown table": (
        "duckdb",
        "CREATE TABLE c AS SELECT x FROM nobody, src",
        ["c.x <- nobody.x"],
    ),
    "column of two unknown tables": (
        "duckdb",
        "CREATE TABLE c AS SELECT x FROM nobody, noone",
        ["c.x <- ?column x could be of nobody or noone"],
    ),
    "what cannot be parsed": (
        "duckdb",
        "INSERT INTO dest SELECT FROM WHERE; INSERT INTO dest (k) SELECT key FROM src",
        None,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_columns_and_their_sources(name: str) -> None:
    dialect, sql, expected = CASES[name]
    found = written(sql, dialect)
    if expected is None:
        assert found[0].startswith("unknown: ")
        assert found[1:] == ["dest.k <- src.key"]
    else:
        assert found == expected


def test_views_are_sources_unless_they_are_expanded() -> None:
    script = (
        "CREATE VIEW w AS SELECT key AS x, value || 'a' AS y FROM src WHERE key > 1;"
        " INSERT INTO dest SELECT x, y FROM w"
    )
    view = ["w.x <- filter:src.key src.key", "w.y <- !src.value filter:src.key"]
    assert written(script, "duckdb") == [*view, "dest.k <- w.x", "dest.v <- w.y"]
    assert written(script, "duckdb", expands=True) == [
        *view,
        "dest.k <- filter:src.key src.key",
        "dest.v <- !src.value filter:src.key",
    ]


def test_lines_and_numbers_are_those_of_the_script() -> None:
    script = "-- first\nCREATE TABLE x (a INT);\n\nINSERT INTO x\nSELECT 1;"
    found = [(t.number, t.line) for t in trace_script(script, KnownTables("duckdb"))]
    assert found == [(1, 2), (2, 4)]


def test_direct_sources_give_values_and_others_decide() -> None:
    (one,) = trace_script("CREATE TABLE c AS SELECT a FROM j WHERE b = 1", KnownTables("duckdb"))
    kinds = {s.column: s.kind == DIRECT for s in one.targets[0].sources}
    assert kinds == {"a": True, "b": False}
