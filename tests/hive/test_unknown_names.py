"""Columns and functions that are not there: told as by a warehouse, not in Spark's words."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import gateway
from gateway.dbapi.connection import Connection

pytestmark = [pytest.mark.stores, pytest.mark.timeout(900)]


@pytest.fixture
def con(url: str) -> Iterator[Connection]:
    """A connection of which Spark answers every query."""
    with gateway.connect(f"{url}&held_rows=0", autocommit=True) as connection:
        yield connection


def test_what_is_misspelt_is_named_with_what_is_like_it(con: Connection) -> None:
    con.execute("CREATE TABLE depts (deptno INTEGER PRIMARY KEY, name VARCHAR)")
    con.execute("INSERT INTO depts VALUES (1, 'sales')")
    for sql, column in (
        ("SELECT nam FROM depts", 8),
        ("SELECT d.nam FROM depts d", 10),
        ("DELETE FROM depts WHERE nam = 'x'", 25),
    ):
        with pytest.raises(gateway.ProgrammingError) as raised:
            con.execute(sql)
        error = raised.value
        assert (error.code, error.advice) == ("PAL-202", "did you mean name?"), (sql, error)
        assert error.position is not None, sql
        assert error.position.column == column, sql
        # The gateway itself says so of a column behind an alias.
        assert 'column "nam"' in str(error), sql
    for sql, said in (
        ("SELECT nosuch(name) FROM depts", "[PAL-208] function nosuch() does not exist"),
        ("SELECT x.nam FROM depts d", "[PAL-201] table x does not exist"),
    ):
        with pytest.raises(gateway.Error) as raised:
            con.execute(sql)
        assert str(raised.value).startswith(said), sql


def test_what_spark_refuses_is_said_without_its_own_words(con: Connection) -> None:
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, s VARCHAR, l INTEGER[], n DECIMAL(5, 2))")
    con.execute("INSERT INTO t VALUES (1, 'x', [1], 2.5)")
    for query, code, said in (
        ("s::INTEGER FROM t", "PAL-310", "the value 'x' of type VARCHAR cannot be cast to INTEGER"),
        ("(k * 1000)::TINYINT FROM t", "PAL-311", "the value 1000"),
        ("(n * 1000)::DECIMAL(5,2) FROM t", "PAL-311", "out of range for DECIMAL(5,2)"),
        ("a.k FROM t a JOIN t b ON k = 1", "PAL-203", 'column "k" is ambiguous: it may be a.k or'),
        ("k, count(*) FROM t", "PAL-214", "a column stands beside an aggregate"),
        ("k, s, count(*) FROM t GROUP BY k", "PAL-214", 'column "s" stands beside an aggregate'),
        ("k FROM t WHERE sum(k) > 1", "PAL-214", "WHERE cannot hold the aggregate"),
        ("max(count(*)) FROM t", "PAL-214", "an aggregate cannot stand inside another"),
        ("l + 1 FROM t", "PAL-212", "cannot combine INTEGER[] and INTEGER"),
        ("coalesce(k, l) FROM t", "PAL-212", "mixes values of type INTEGER and INTEGER[]"),
        ("k FROM t WHERE s", "PAL-212", 'a condition is true or false, and "s" is VARCHAR'),
        ("k FROM t UNION SELECT l FROM t", "PAL-212", "UNION of INTEGER and INTEGER[]"),
        ("k FROM t UNION SELECT k, s FROM t", "PAL-213", "UNION of queries with 1 and 2 columns"),
        ("row_number() FROM t", "PAL-216", "row_number() needs an OVER clause"),
        ("regexp_matches(s, '(') FROM t", "PAL-312", "'(' is no regular expression"),
        ("strptime(s, '%Y') FROM t", "PAL-312", "the text 'x' does not fit the format"),
        ("* FROM (PIVOT t ON s USING count(*))", "PAL-110", "Spark does not read what it becomes"),
    ):
        with pytest.raises(gateway.Error) as raised:
            con.execute(f"SELECT {query}").fetchall()
        error = raised.value
        assert error.code == code, (query, error)
        assert said in str(error), (query, error)
        assert error.advice, query
        assert not any(word in str(error) for word in ("STRING", "spark.sql", "`")), error
