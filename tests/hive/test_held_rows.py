"""Rows told from memory: single-row writes by key ask no server, and give what the server gives."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest

import gateway
from gateway.dbapi.connection import Connection
from journal.stores.hive import row_upload
from journal.stores.hive.client.thrift_connection import ThriftConnection
from journal.stores.hive.held_rows import RowsByKey
from journal.stores.hive.journal import HiveJournal
from tests.support.thrift_server import ThriftServer

pytestmark = [pytest.mark.stores, pytest.mark.timeout(900)]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the server was asked."""
    found: list[str] = []
    execute = ThriftConnection.execute

    def listening(self: ThriftConnection, *given: Any, **more: Any) -> list[list[Any]]:
        found.append(str(given[0]))
        return execute(self, *given, **more)

    monkeypatch.setattr(ThriftConnection, "execute", listening)
    return found


@pytest.mark.parametrize(
    "table",
    [
        "k INTEGER PRIMARY KEY, v VARCHAR NOT NULL",
        "k INTEGER, v VARCHAR",
        "i BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, k INTEGER, v VARCHAR DEFAULT 'none'",
        "k INTEGER PRIMARY KEY, v VARCHAR CHECK (length(v) > 1)",
    ],
)
def test_many_small_inserts_are_one_append(con: Connection, asked: list[str], table: str) -> None:
    con.execute(f"CREATE TABLE t ({table})")
    con.execute("INSERT INTO t (k, v) VALUES (-1, 'first')")
    con.execute("BEGIN")
    asked.clear()
    for i in range(300):
        con.execute("INSERT INTO t (k, v) VALUES (?, ?)", [i, f"row {i}"])
    assert asked == []
    con.execute("COMMIT")
    assert len(asked) == 1
    assert con.execute("SELECT count(*), max(k) FROM t").fetchall() == [(301, 299)]


def test_many_rows_of_the_gateways_are_few_files(
    con: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_upload, "INLINE_ROWS_MAX", 100)
    columns = "k INTEGER PRIMARY KEY, v VARCHAR, d DECIMAL(9, 3), t TIMESTAMP, b BLOB, n INTEGER[]"
    rows = (
        "SELECT i::INTEGER, 'it''s \u00e9 ' || i, i + 0.125, TIMESTAMP '2024-02-29 23:59:59.000007'"
        " + i * INTERVAL '1' SECOND, i::VARCHAR::BLOB, [i::INTEGER, NULL] FROM range(700) r(i)"
    )
    answers = "SELECT count(*), sum(d), min(v), max(t), max(b), max(n) FROM t"
    plain = duckdb.connect()
    for run in (plain, con):
        run.execute(f"CREATE TABLE t ({columns})")
        run.execute(f"INSERT INTO t {rows}")
    assert con.execute(answers).fetchall() == plain.execute(answers).fetchall()
    journal = con.session.journal
    assert isinstance(journal, HiveJournal)
    own, (state,) = journal.names.journal_database, journal.state.tables.values()
    tables = {s.files[0].path.partition("/")[0] for s in state.manifest.segments}
    with journal.store.connection() as connection:
        for table in tables:
            assert len(connection.run(f"SELECT DISTINCT input_file_name() FROM {own}.{table}")) == 1
        assert connection.tables_of(own, f"{journal.names.staging}*") == []


STATEMENTS: list[tuple[str, tuple[Any, ...]]] = [
    ("INSERT INTO t VALUES (?, 'one', 1.25, true, DATE '2024-02-29', ?)", (1, 0.5)),
    ("INSERT INTO t (a, k) VALUES (?, ?)", ("two", 2)),
    ("INSERT INTO t (a, k) VALUES (?, ?)", ("again", 2)),
    ("INSERT INTO t (k) VALUES (?)", ("3",)),
    ("INSERT INTO t (k, a) VALUES (?, NULL)", (4,)),
    ("INSERT INTO t (k) VALUES (?)", (None,)),
    ("INSERT INTO t (k, d) VALUES (?, ?)", (5, Decimal("123456.5"))),
    ("INSERT INTO t (k, d) VALUES (?, ?)", (5, Decimal("1.005"))),
    ("INSERT INTO t (k, day, x) VALUES (?, ?, ?)", (6, dt.date(1, 1, 1), -0.0)),
    ("INSERT INTO t (k, b) VALUES (?, ?)", (2**40, True)),
    ("INSERT INTO t (k, b) VALUES (7, DEFAULT)", ()),
    ("INSERT INTO t (k, a) VALUES (8, upper(?))", ("it's",)),
    ("INSERT INTO t (k, a) VALUES (8, 'x') ON CONFLICT (k) DO UPDATE SET a = t.a || ?", ("!",)),
    ("SELECT * FROM t WHERE k = ?", (1,)),
    ("SELECT a AS name, d FROM t WHERE k = ?", (2,)),
    ("UPDATE t SET a = ?, b = false WHERE k = ?", ("other", 1)),
    ("UPDATE t SET x = x + 1 WHERE k = ?", (1,)),
    ("UPDATE t SET a = NULL WHERE k = ?", (99,)),
    ("DELETE FROM t WHERE k = ?", (2,)),
    ("INSERT INTO t (k, a) VALUES (?, 'back')", (2,)),
    ("SELECT * FROM t WHERE k = ?", (2,)),
    ("SELECT * FROM t ORDER BY k", ()),
]
COLUMNS = (
    "k INTEGER PRIMARY KEY, a VARCHAR DEFAULT 'none', d DECIMAL(8, 2), b BOOLEAN, day DATE,"
    " x DOUBLE"
)


def _result(con: Connection, sql: str, values: tuple[Any, ...]) -> Any:
    cursor = con.cursor()
    try:
        cursor.execute(sql, values)
    except gateway.Error as error:
        return error.code, error.sqlstate
    if cursor.description is None:
        return cursor.rowcount
    return [column[:2] for column in cursor.description], cursor.fetchall()


@pytest.mark.parametrize(
    "explicit", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["explicit", "autocommit"]
)
def test_what_is_told_from_memory_is_what_the_server_tells(
    server: ThriftServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, explicit: bool
) -> None:
    results: dict[str, list[Any]] = {}
    for name in ("memory", "server"):
        with gateway.connect(server.new_store(tmp_path), autocommit=True) as con:
            con.execute(f"CREATE TABLE t ({COLUMNS})")
            if name == "server":
                monkeypatch.setattr(RowsByKey, "seen_by", lambda *_: None)
            found = results[name] = []
            for sql, values in STATEMENTS:
                # The first time a statement comes, its plan is made the usual way.
                for _ in range(2):
                    if explicit:
                        con.execute("BEGIN")
                    found.append((sql, _result(con, sql, values)))
                    if explicit:
                        con.execute("ROLLBACK" if isinstance(found[-1][1], tuple) else "COMMIT")
    assert results["memory"] == results["server"]


def test_own_rows_and_savepoints(con: Connection, asked: list[str]) -> None:
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v VARCHAR)")
    con.execute("INSERT INTO t VALUES (1, 'kept')")
    con.execute("BEGIN")
    insert, read = "INSERT INTO t VALUES (?, ?)", "SELECT v FROM t WHERE k = ?"
    con.execute(insert, (2, "a"))
    con.execute("SAVEPOINT s")
    con.execute(insert, (3, "b"))
    con.execute("DELETE FROM t WHERE k = ?", (1,))
    con.execute(insert, (1, "new"))
    for _ in range(2):
        assert con.execute(read, (1,)).fetchall() == [("new",)]
    con.execute("ROLLBACK TO s")
    asked.clear()
    assert con.execute(read, (1,)).fetchall() == [("kept",)]
    assert con.execute(read, (2,)).fetchall() == [("a",)]
    assert con.execute(read, (3,)).fetchall() == []
    con.execute(insert, (3, "c"))
    assert asked == []
    con.execute("SAVEPOINT s")
    with pytest.raises(gateway.IntegrityError) as raised:
        con.execute(insert, (3, "d"))
    assert raised.value.sqlstate == "23505"
    con.execute("ROLLBACK TO s")
    con.execute("COMMIT")
    rows = con.execute("SELECT * FROM t ORDER BY k").fetchall()
    assert rows == [(1, "kept"), (2, "a"), (3, "c")]


def test_a_key_that_another_gateway_took_is_found_out(
    connect: Callable[..., Connection], url: str
) -> None:
    con = connect()
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v VARCHAR)")
    insert = "INSERT INTO t VALUES (?, ?)"
    con.execute(insert, (1, "mine"))
    # An option makes it another URL, and so another gateway in this process.
    with gateway.connect(f"{url}&lease=14", autocommit=True) as other:
        assert other.session.journal is not con.session.journal
        con.execute("BEGIN")
        con.execute(insert, (2, "mine"))
        other.execute(insert, (2, "theirs"))
        with pytest.raises(gateway.OperationalError) as raised:
            con.execute("COMMIT")
        assert raised.value.sqlstate == "40001"
        with pytest.raises(gateway.IntegrityError):
            con.execute(insert, (2, "mine"))
        other.execute("DELETE FROM t WHERE k = 2")
        con.execute(insert, (2, "mine"))
        assert con.execute("SELECT v FROM t WHERE k = ?", (2,)).fetchall() == [("mine",)]
        other.execute("UPDATE t SET v = 'theirs' WHERE k = ?", (2,))
        assert con.execute("SELECT v FROM t WHERE k = ?", (2,)).fetchall() == [("theirs",)]


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE t ADD COLUMN more INTEGER DEFAULT 3",
        "ALTER TABLE t RENAME COLUMN v TO w",
        "ALTER TABLE t DROP COLUMN v",
        "CALL system.compact('t')",
        "TRUNCATE t",
    ],
)
def test_what_changes_tables_otherwise(con: Connection, change: str) -> None:
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v VARCHAR)")
    con.execute("INSERT INTO t VALUES (1, 'a')")
    con.execute("UPDATE t SET v = 'b' WHERE k = 1")
    con.execute(change)
    expected = con.execute("SELECT * FROM t WHERE k + 0 = 1").fetchall()
    for _ in range(2):
        assert con.execute("SELECT * FROM t WHERE k = ?", (1,)).fetchall() == expected
    if expected:
        with pytest.raises(gateway.IntegrityError):
            con.execute("INSERT INTO t (k) VALUES (?)", (1,))
    con.execute("INSERT INTO t (k) VALUES (?)", (2,))
    assert con.execute("SELECT k FROM t ORDER BY k").fetchall()[-1] == (2,)
