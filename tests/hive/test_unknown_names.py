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
