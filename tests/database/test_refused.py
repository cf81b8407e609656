"""What PostgreSQL has no type or function for is refused with a code, and nothing happens."""

from __future__ import annotations

import pytest

import gateway
from gateway.dbapi.connection import Connection

KINDS = (
    "STRUCT(a INTEGER)",
    "MAP(VARCHAR, INTEGER)",
    "UTINYINT",
    "USMALLINT",
    "UINTEGER",
    "UBIGINT",
    "TIMESTAMP_NS",
    "BIT",
    "UINTEGER[]",
)
QUERIES = (
    ("SELECT {'a': 1}", "STRUCT"),
    ("SELECT MAP {'a': 1}", "MAP"),
    ("SELECT 1::UINTEGER", "unsigned"),
    ("SELECT reduce(l, lambda x, y: x + y) FROM t", "lambda"),
    ("SELECT list_sort(l, s) FROM t", "lists sorted only"),
    ("SELECT printf('%o', a) FROM t", "%o in format()"),
    ("SELECT printf(s, a) FROM t", "printf() with more than"),
    ("SELECT l[1:2:2] FROM t", "in steps"),
    ("SELECT strftime(DATE '2024-01-02', '%Z')", "%Z"),
    ("SELECT strftime(DATE '2024-01-02', s) FROM t", "formats of moments"),
    ("SELECT arg_max(a, s) OVER () FROM t", "FILTER or OVER"),
    ("SELECT * FROM t POSITIONAL JOIN t AS u", "POSITIONAL"),
    ("SELECT * FROM histogram(t, a)", "histogram"),
    ("SELECT * FROM histogram('t', a)", "histogram"),
    ("SELECT * FROM 'file.parquet'", ""),
)


def _refusal(con: Connection, sql: str) -> gateway.Error:
    with pytest.raises(gateway.Error) as raised:
        con.execute(sql).fetchall()
    return raised.value


def test_what_there_is_not_is_refused(con: Connection) -> None:
    con.execute("CREATE TABLE t (a INTEGER, l INTEGER[], s VARCHAR)")
    con.execute("INSERT INTO t VALUES (1, [2, 1], 'x')")
    for kind in KINDS:
        for sql in (f"CREATE TABLE u (b {kind})", f"ALTER TABLE t ADD COLUMN b {kind}"):
            error = _refusal(con, sql)
            assert (error.code, error.sqlstate) == ("PAL-110", "0A000"), sql
            assert "PostgreSQL store has no" in str(error)
    for sql, said in QUERIES:
        error = _refusal(con, sql)
        assert said in str(error)
        assert error.sqlstate in {"0A000", "42P01"}, sql
    nested = _refusal(con, "SELECT list_transform([[1], [2]], lambda x: x)")
    assert "lists of lists" in str(nested)
    assert con.execute("SELECT * FROM t").fetchall() == [(1, [2, 1], "x")]
    assert con.execute("SHOW TABLES").fetchall() == [("t",)]


def test_json_is_compared_as_text(con: Connection) -> None:
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, j JSON)")
    con.execute("""INSERT INTO t VALUES (1, '{"a": 1}'), (2, '{"a": 1}'), (3, '[1]')""")
    for sql in (
        "SELECT DISTINCT j FROM t",
        "SELECT * FROM t AS a, t AS b WHERE a.j = b.j",
        "SELECT k FROM t WHERE j < '1'",
    ):
        assert "as text" in _refusal(con, sql).advice, sql
    query = "SELECT count(*) FROM t AS a JOIN t AS b ON a.j::text = b.j::text"
    assert con.execute(query).fetchall() == [(5,)]
    query = "SELECT DISTINCT j::text FROM t ORDER BY 1"
    assert con.execute(query).fetchall() == [("[1]",), ('{"a": 1}',)]


def test_a_moment_that_python_lacks_is_named_with_its_column(con: Connection) -> None:
    error = _refusal(con, "SELECT 1 AS a, DATE '0002-01-01' - 1000 AS day")
    assert (error.code, error.sqlstate) == ("PAL-312", "22000")
    assert 'column "day" has 0002-04-07 BC' in str(error)
    assert "VARCHAR" in str(error)
