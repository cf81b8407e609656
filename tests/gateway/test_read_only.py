"""Sessions that write nothing: they read what is committed now, and refuse every change."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.errors import Error

WRITES = (
    "INSERT INTO t VALUES (9)",
    "UPDATE t SET a = 9",
    "DELETE FROM t",
    "CREATE TABLE u (a INTEGER)",
    "CREATE VIEW v AS SELECT * FROM t",
    "CREATE SEQUENCE s",
    "DROP TABLE t",
    "ERASE FROM t WHERE a = 1",
    "CALL system.compact('t')",
)


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"palimpsest:///{tmp_path}/w"


@contextmanager
def _writing(url: str) -> Iterator[Connection]:
    with gateway.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE t (a INTEGER PRIMARY KEY)")
        connection.execute("INSERT INTO t VALUES (1)")
        yield connection


@pytest.fixture
def writer(url: str) -> Iterator[Connection]:
    with _writing(url) as connection:
        yield connection


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Connection]]:
    """A warehouse, and who could write to it, for tests in which nobody does."""
    url = f"palimpsest:///{tmp_path_factory.mktemp('unchanged')}/w"
    with _writing(url) as connection:
        yield url, connection


def rows(connection: Connection) -> list[tuple[int]]:
    return connection.execute("SELECT a FROM t ORDER BY a").fetchall()


@pytest.mark.parametrize("dialect", ["duckdb", "postgres"])
@pytest.mark.parametrize("sql", WRITES)
def test_a_read_only_session_refuses_every_change(
    unchanged: tuple[str, Connection], dialect: str, sql: str
) -> None:
    url, writer = unchanged
    with gateway.connect(url, autocommit=True, dialect=dialect, read_only=True) as reader:
        with pytest.raises(Error) as caught:
            reader.execute(sql)
        assert (caught.value.code, caught.value.sqlstate) == ("PAL-403", "25006")
        assert rows(reader) == rows(writer) == [(1,)]


def test_it_refuses_what_was_run_before(writer: Connection) -> None:
    writer.execute("CREATE TABLE u (a INTEGER PRIMARY KEY, b INTEGER)")
    writer.execute("INSERT INTO u VALUES (1, 0)")
    change = "UPDATE u SET b = b + 1 WHERE a = ?"
    for _ in range(3):
        writer.execute(change, [1])
    writer.execute("SET default_transaction_read_only = on")
    with pytest.raises(Error, match="read-only"):
        writer.execute(change, [1])
    assert writer.execute("SELECT b FROM u").fetchall() == [(3,)]


def test_each_statement_of_it_reads_what_is_committed_then(url: str, writer: Connection) -> None:
    with gateway.connect(url, autocommit=True, read_only=True) as reader:
        assert rows(reader) == [(1,)]
        writer.execute("INSERT INTO t VALUES (2)")
        assert rows(reader) == [(1,), (2,)]


def test_it_makes_no_warehouse(tmp_path: Path) -> None:
    with pytest.raises(Error, match="there is no warehouse"):
        gateway.connect(f"palimpsest:///{tmp_path}/none", read_only=True)
    assert not (tmp_path / "none").exists()


def test_it_may_be_ended_as_in_postgresql(url: str, writer: Connection) -> None:
    with gateway.connect(url, autocommit=True, read_only=True) as reader:
        assert reader.execute("SHOW transaction_read_only").fetchall() == [("on",)]
        reader.execute("SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE")
        reader.execute("INSERT INTO t VALUES (3)")
        assert rows(writer) == [(1,), (3,)]


def test_set_transaction_read_only_lasts_until_the_end_of_the_transaction(
    writer: Connection,
) -> None:
    writer.execute("BEGIN")
    writer.execute("SET TRANSACTION READ ONLY")
    with pytest.raises(Error, match="read-only"):
        writer.execute("INSERT INTO t VALUES (4)")
    writer.execute("ROLLBACK")
    writer.execute("INSERT INTO t VALUES (5)")
    assert rows(writer) == [(1,), (5,)]


def test_begin_says_whether_a_transaction_writes(tmp_path: Path) -> None:
    with gateway.connect(f"palimpsest:///{tmp_path}/w", autocommit=True) as con:
        con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY)")
        con.execute("SET default_transaction_read_only = 'on'")
        con.execute("BEGIN READ WRITE")
        con.execute("INSERT INTO t VALUES (1)")
        con.execute("COMMIT")
        for begin in ("BEGIN", "BEGIN READ ONLY"):
            con.execute(begin)
            with pytest.raises(gateway.DatabaseError) as raised:
                con.execute("INSERT INTO t VALUES (2)")
            assert raised.value.sqlstate == "25006"
            con.execute("ROLLBACK")
        assert con.execute("SELECT k FROM t").fetchall() == [(1,)]
