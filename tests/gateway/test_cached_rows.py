"""Rows in memory give what the store gives: the same statements with them, and without."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import gateway
from gateway.dbapi.connection import Connection
from journal.stores.embedded.journal import Journal
from journal.transactions.row_cache import RowCache
from tests.support.tiers import in_tiers

LAST = dt.datetime.fromisoformat("9999-12-31T23:59:59.999999")
TYPES = {
    "b": ("BOOLEAN", True),
    "i1": ("TINYINT", -5),
    "i4": ("INTEGER", 70_000),
    "u8": ("UBIGINT", 2**64 - 1),
    "f": ("DOUBLE", 0.1),
    "d": ("DECIMAL(10, 2)", Decimal("12.50")),
    "s": ("VARCHAR(9)", "Ångström"),
    "day": ("DATE", dt.date(2024, 2, 29)),
    "at": ("TIMESTAMP", dt.datetime.fromisoformat("2024-02-29T01:02:03.000004")),
    "n": ("INTEGER NOT NULL", 7),
    "c": ("INTEGER CHECK (c < 100)", 8),
    "un": ("INTEGER UNIQUE", 9),
}
STATEMENTS: list[tuple[str, tuple[Any, ...]]] = [
    ("SELECT * FROM t WHERE k = ?", (1,)),
    ("SELECT s, f AS g, x.d FROM t AS x WHERE x.k = 1", ()),
    ("SELECT S, i4 + 1, upper(s) FROM t WHERE k = ? AND b", (1,)),
    ("SELECT s FROM t WHERE k = ?", ("1",)),
    ("SELECT s FROM t WHERE k = ?", (1.0,)),
    ("SELECT s FROM t WHERE k = ?", (None,)),
    ("SELECT s FROM t WHERE k = 1 AND k = 2", ()),
    ("SELECT count(*) FROM t WHERE k = ?", (1,)),
    ("UPDATE t SET i4 = ?, s = 'a''b', f = ? WHERE k = ?", (5, 2.5, 1)),
    ("UPDATE t SET i4 = i4 + ? WHERE k = ?", (5, 1)),
    ("UPDATE t SET f = ?, d = ? WHERE k = ?", (3, 4, 1)),
    ("UPDATE t SET d = ? WHERE k = ?", (Decimal("1.555"), 1)),
    ("UPDATE t SET d = ? WHERE k = ?", (Decimal("1.5"), 1)),
    ("UPDATE t SET i1 = ? WHERE k = ?", (300, 1)),
    ("UPDATE t SET i4 = ? WHERE k = ?", ("17", 1)),
    ("UPDATE t SET i4 = ? WHERE k = ?", ("x", 1)),
    ("UPDATE t SET b = ?, day = ? WHERE k = ?", (1, "2025-01-01", 1)),
    ("UPDATE t SET n = ? WHERE k = ?", (None, 1)),
    ("UPDATE t SET s = NULL, i4 = ? WHERE k = ?", (None, 1)),
    ("UPDATE t SET c = ? WHERE k = ?", (100, 1)),
    ("UPDATE t SET un = ? WHERE k = ?", (10, 1)),
    ("UPDATE t SET un = ? WHERE k = ?", (11, 1)),
    ("UPDATE t SET k = ? WHERE k = ?", (3, 1)),
    ("SELECT k, i4 FROM t WHERE k = ?", (3,)),
    ("DELETE FROM t WHERE k = ?", (3,)),
    ("DELETE FROM t WHERE k = ?", (3,)),
    ("UPDATE t SET i4 = 1 WHERE k = ?", (3,)),
    ("SELECT * FROM t WHERE k = ?", (3,)),
    ("INSERT INTO t (k, n) VALUES (?, 1)", (2,)),
    ("INSERT INTO t (k, n) VALUES (?, 1)", (3,)),
    ("INSERT INTO t (k, n) VALUES (?, 5) ON CONFLICT (k) DO UPDATE SET n = t.n + 1", (3,)),
    ("SELECT k, n FROM t WHERE k = ?", (3,)),
    ("UPDATE t SET day = 'infinity', at = TIMESTAMP '20000-01-01' WHERE k = ?", (2,)),
    ("SELECT day, at FROM t WHERE k = ?", (2,)),
    ("UPDATE t SET i4 = ? WHERE k = ?", (6, 2)),
    ("UPDATE t SET day = ?, at = ? WHERE k = ?", (dt.date.max, LAST, 2)),
    ("SELECT day, at, day + 1 FROM t WHERE k = ?", (2,)),
    ("INSERT INTO t (k, n, day) VALUES (?, 1, '-infinity')", (4,)),
    ("DELETE FROM t WHERE k = ?", (4,)),
]


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[Connection]:
    with gateway.connect(f"palimpsest:///{tmp_path / 'w'}", autocommit=True) as opened:
        columns = ", ".join(f"{name} {kind}" for name, (kind, _) in TYPES.items())
        opened.execute(f"CREATE TABLE t (k INTEGER PRIMARY KEY, {columns})")
        opened.execute("BEGIN")
        for key, taken in ((1, 9), (2, 10)):
            values = {name: value for name, (_, value) in TYPES.items()} | {"un": taken}
            marks = ", ".join("?" for _ in values)
            opened.execute(f"INSERT INTO t VALUES ({key}, {marks})", list(values.values()))
        opened.execute("COMMIT")
        assert recent(opened)
        yield opened


def recent(connection: Connection) -> RowCache:
    journal = connection.session.journal
    assert isinstance(journal, Journal)
    return journal.in_memory.recent


def forget_all(connection: Connection) -> None:
    """Let the store be asked for every row."""
    recent(connection).clear(connection.session.journal.state.version)


def result(connection: Connection, sql: str, values: tuple[Any, ...]) -> Any:
    """Everything that a client sees of a statement."""
    cursor = connection.cursor()
    try:
        cursor.execute(sql, values)
    except gateway.Error as error:
        return error.code, error.sqlstate
    if cursor.description is None:
        return cursor.rowcount
    rows = cursor.fetchall()
    cursor.execute(sql, values)
    return cursor.description, rows, cursor.fetch_arrow()


_TIMES = {"both": (False, False, True), "alone": (False,) * 3, "in a transaction": (True,) * 3}
"""Whether a statement is in a transaction that its client began, each of the times it comes."""


@pytest.mark.long
@pytest.mark.parametrize("times", in_tiers(_TIMES, {"both"}))
def test_same_results(connection: Connection, tmp_path: Path, times: str) -> None:
    with gateway.connect(f"palimpsest:///{tmp_path / 'other'}", autocommit=True) as other:
        columns = ", ".join(f"{name} {kind}" for name, (kind, _) in TYPES.items())
        other.execute(f"CREATE TABLE t (k INTEGER PRIMARY KEY, {columns})")
        copied = connection.execute("SELECT * FROM t").fetchall()
        marks = ", ".join("?" for _ in copied[0])
        for row in copied:
            other.execute(f"INSERT INTO t VALUES ({marks})", row)
        for sql, values in STATEMENTS:
            # The first time a statement comes, its plan is made the usual way.
            for in_transaction in _TIMES[times]:
                forget_all(other)
                if in_transaction:
                    connection.execute("BEGIN")
                found = result(connection, sql, values)
                if in_transaction:
                    connection.execute("ROLLBACK" if isinstance(found, tuple) else "COMMIT")
                assert found == result(other, sql, values), (sql, values)
        business = "COLUMNS(* EXCLUDE (version_number, subsequent_version_number))::VARCHAR"
        for source in ("SELECT * FROM t", f"SELECT {business} FROM t_journal"):
            everything = f"SELECT * FROM ({source}) ORDER BY ALL"
            assert connection.execute(everything).fetchall() == other.execute(everything).fetchall()


def test_each_snapshot_sees_its_own_row(connection: Connection) -> None:
    read, write = "SELECT i4 FROM t WHERE k = 1", "UPDATE t SET i4 = ? WHERE k = 1"
    with (
        gateway.connect(f"palimpsest:///{connection.session.journal.place}") as early,
        gateway.connect(f"palimpsest:///{connection.session.journal.place}") as late,
    ):
        assert early.execute(read).fetchall() == [(70_000,)]
        for number in range(6):
            connection.execute(write, (number,))
            assert early.execute(read).fetchall() == [(70_000,)]
            assert connection.execute(read).fetchall() == [(number,)]
        assert late.execute(read).fetchall() == [(5,)]
        connection.execute("DELETE FROM t WHERE k = 1")
        assert late.execute(read).fetchall() == [(5,)]
        assert connection.execute(read).fetchall() == []


def test_own_writes_and_savepoints(connection: Connection) -> None:
    read, write = "SELECT i4 FROM t WHERE k = ?", "UPDATE t SET i4 = ? WHERE k = ?"
    connection.execute("BEGIN")
    connection.execute(write, (1, 1))
    connection.execute("SAVEPOINT a")
    connection.execute(write, (2, 1))
    connection.execute("DELETE FROM t WHERE k = ?", (2,))
    assert connection.execute(read, (1,)).fetchall() == [(2,)]
    assert connection.execute(read, (2,)).fetchall() == []
    connection.execute("ROLLBACK TO a")
    assert connection.execute(read, (1,)).fetchall() == [(1,)]
    assert connection.execute(read, (2,)).fetchall() == [(70_000,)]
    connection.execute("ROLLBACK")
    assert connection.execute(read, (1,)).fetchall() == [(70_000,)]


def test_change_that_comes_second_is_told_at_once(connection: Connection) -> None:
    write = "UPDATE t SET i4 = ? WHERE k = ?"
    with gateway.connect(f"palimpsest:///{connection.session.journal.place}") as second:
        for _ in range(2):
            second.execute("SELECT k FROM t WHERE k = 3")
            connection.execute(write, (1, 1))
            second.execute(write, (2, 2))
            with pytest.raises(gateway.OperationalError) as raised:
                second.execute(write, (2, 1))
            assert raised.value.sqlstate == "40001"
            second.rollback()
    rows = connection.execute("SELECT k, i4 FROM t ORDER BY k").fetchall()
    assert rows == [(1, 1), (2, 70_000)]


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE t ADD COLUMN more INTEGER DEFAULT 3",
        "ALTER TABLE t RENAME COLUMN i4 TO i5",
        "ALTER TABLE t ALTER COLUMN i4 TYPE BIGINT",
        "UPDATE t SET i4 = 6",
        "INSERT INTO t (k, n) SELECT 100 + i, 1 FROM range(40000) AS r(i)",
        "CALL system.flush()",
        "TRUNCATE t",
    ],
)
def test_what_changes_rows_otherwise(connection: Connection, change: str) -> None:
    before = connection.execute("SELECT * FROM t WHERE k = ?", (1,)).fetchall()
    with gateway.connect(f"palimpsest:///{connection.session.journal.place}") as early:
        assert early.execute("SELECT * FROM t WHERE k = ?", (1,)).fetchall() == before
        connection.execute(change)
        for _ in range(2):
            assert early.execute("SELECT * FROM t WHERE k = ?", (1,)).fetchall() == before
    found = result(connection, "SELECT * FROM t WHERE k = ?", (1,))
    forget_all(connection)
    assert found == result(connection, "SELECT * FROM t WHERE k = ?", (1,))
