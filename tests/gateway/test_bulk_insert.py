"""INSERTs of many rows, which are written as a segment before they are looked at."""

from __future__ import annotations

import subprocess
import textwrap
from pathlib import Path
from typing import Any

import pytest

import gateway
from gateway.dbapi.connection import Connection
from tests.support.warm_python import warm_python

MANY, BUFFERED = 6_000, 1_000
"""Rows of a statement, and those of which it may have more in memory than go to a file."""
ROWS = f"SELECT i, 's' || i, i / 2 FROM range({MANY}) AS r(i)"


@pytest.fixture
def connection(tmp_path: Path) -> Any:
    with gateway.connect(
        f"palimpsest:///{tmp_path}/w", autocommit=True, memory_rows=BUFFERED
    ) as opened:
        opened.cursor().execute(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, name VARCHAR NOT NULL UNIQUE,"
            " x DOUBLE CHECK (x >= 0))"
        )
        yield opened


def _files(tmp_path: Path) -> list[Path]:
    return sorted(tmp_path.glob("w/*/*_journal/*/*"))


def _all(connection: Connection, sql: str) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = connection.cursor().execute(sql).fetchall()
    return found


def test_each_row_once_and_one_segment(connection: Connection, tmp_path: Path) -> None:
    cursor = connection.cursor().execute(f"INSERT INTO t {ROWS}")
    assert cursor.rowcount == MANY
    assert _all(connection, "SELECT count(*), count(DISTINCT id), sum(id) FROM t") == [
        (MANY, MANY, MANY * (MANY - 1) // 2)
    ]
    assert _all(connection, "SELECT tier, rows FROM system.segments") == [("base", MANY)]
    assert len(_files(tmp_path)) == 1
    asked = "SELECT rows_written FROM system.transactions ORDER BY version DESC LIMIT 1"
    assert _all(connection, asked) == [(MANY,)]


@pytest.mark.parametrize(
    ("source", "state", "told"),
    [
        (ROWS.replace("SELECT i,", "SELECT i // 2,"), "23505", "duplicate key (id) = ("),
        (ROWS.replace("'s' || i", "'s' || i // 2"), "23505", "duplicate key (name) = (s"),
        (ROWS.replace("'s' || i", "nullif('s' || i, 's7')"), "23502", '"name" of main.t'),
        (ROWS.replace("i / 2", "5 - i"), "23514", "violates check"),
        (ROWS.replace("SELECT i,", "SELECT i + 4000000000,"), "22003", "out of range"),
        (ROWS.replace("SELECT i,", "SELECT i + 10,"), "23505", "duplicate key (id) = (10)"),
        (ROWS.replace("'s' || i", "'old'"), "23505", "duplicate key (name) = (old)"),
    ],
)
def test_a_bulk_insert_that_fails_leaves_no_row(
    connection: Connection, tmp_path: Path, source: str, state: str, told: str
) -> None:
    connection.cursor().execute("INSERT INTO t VALUES (10, 'old', 1)")
    if "i + 10" not in source:
        connection.cursor().execute("UPDATE t SET id = -1")
    with pytest.raises(gateway.Error) as caught:
        connection.cursor().execute(f"INSERT INTO t {source}")
    assert caught.value.sqlstate == state
    assert told in str(caught.value)
    assert _all(connection, "SELECT count(*) FROM t") == [(1,)]
    assert _files(tmp_path) == []


def test_errors_are_those_of_few_rows(connection: Connection) -> None:
    messages = []
    for count in (10, MANY):
        with pytest.raises(gateway.DataError) as caught:
            connection.cursor().execute(
                "INSERT INTO t SELECT CASE i WHEN 5 THEN 'five' ELSE '7' END, 'a', 1"
                f" FROM range({count}) AS r(i)"
            )
        messages.append((caught.value.sqlstate, str(caught.value).split(" when casting")[0]))
    assert messages[0] == messages[1]


def test_rollback_and_savepoint_take_the_files_away(connection: Connection, tmp_path: Path) -> None:
    cursor = connection.cursor()
    cursor.execute("BEGIN")
    cursor.execute(f"INSERT INTO t {ROWS}")
    cursor.execute("SAVEPOINT a")
    cursor.execute(f"INSERT INTO t SELECT id + {MANY}, name || '+', x FROM t")
    assert _all(connection, "SELECT count(*), count(DISTINCT name) FROM t") == [
        (2 * MANY, 2 * MANY)
    ]
    cursor.execute("ROLLBACK TO a")
    assert _all(connection, "SELECT count(*), max(id) FROM t") == [(MANY, MANY - 1)]
    cursor.execute("UPDATE t SET x = 0 WHERE id = 7")
    cursor.execute("COMMIT")
    assert _all(connection, "SELECT count(*), min(x) FROM t WHERE id < 10") == [(10, 0.0)]
    assert len(_files(tmp_path)) == 1
    cursor.execute("BEGIN")
    cursor.execute(f"INSERT INTO t SELECT id + {MANY}, name || '+', x FROM t")
    cursor.execute("ROLLBACK")
    assert _all(connection, "SELECT count(*) FROM t") == [(MANY,)]
    assert len(_files(tmp_path)) == 1


def test_returning_defaults_and_identity(connection: Connection) -> None:
    cursor = connection.cursor()
    cursor.execute(
        "CREATE TABLE d (id INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY, v INTEGER,"
        " w VARCHAR DEFAULT 'w')"
    )
    cursor.execute(f"INSERT INTO d (v) SELECT i FROM range({MANY}) AS r(i) RETURNING id, w")
    found = cursor.fetchall()
    assert sorted(found) == [(i + 1, "w") for i in range(MANY)]
    cursor.execute("INSERT INTO d (v) SELECT v FROM d WHERE v < 2")
    assert cursor.rowcount == 2
    assert _all(connection, "SELECT max(id), count(DISTINCT id), count(*) FROM d") == [
        (MANY + 2, MANY + 2, MANY + 2)
    ]


def test_rows_without_a_key_and_odd_types(connection: Connection) -> None:
    cursor = connection.cursor()
    cursor.execute("CREATE TABLE odd (h HUGEINT, e ENUM('a', 'b'), i INTERVAL)")
    cursor.execute(
        "INSERT INTO odd SELECT i::HUGEINT * 10000000000000000000, ['a', 'b'][1 + i % 2],"
        f" INTERVAL (i) DAY FROM range({MANY}) AS r(i)"
    )
    assert cursor.rowcount == MANY
    asked = "SELECT count(*), max(h), count(*) FILTER (e = 'b'), max(i) FROM odd"
    assert str(_all(connection, asked)[0][1]) == "5" + "999" + "0" * 19
    cursor.execute(f"CREATE TABLE made AS SELECT i, i AS j FROM range({MANY}) AS r(i)")
    assert cursor.rowcount == MANY
    assert _all(connection, "SELECT count(*), count(DISTINCT i) FROM made") == [(MANY, MANY)]


def test_upsert_of_many(connection: Connection) -> None:
    cursor = connection.cursor()
    cursor.execute(f"INSERT INTO t {ROWS}")
    cursor.execute(
        f"INSERT INTO t SELECT i + 10, 'n' || i, 1 FROM range({MANY}) AS r(i)"
        " ON CONFLICT (id) DO NOTHING"
    )
    assert cursor.rowcount == 10
    assert _all(connection, "SELECT count(*) FROM t") == [(MANY + 10,)]


_KILLED = """
    import os, sys, gateway
    from journal.stores.embedded import bulk_insert
    show = bulk_insert._show
    def killed(*given):
        show(*given)
        os.kill(os.getpid(), 9)
    bulk_insert._show = killed
    connection = gateway.connect(
        f"palimpsest:///{sys.argv[1]}", autocommit=True, memory_rows=int(sys.argv[3])
    )
    connection.cursor().execute(sys.argv[2])
"""


def test_killed_in_the_middle(connection: Connection, tmp_path: Path) -> None:
    connection.close()
    command = [warm_python(), "-c", textwrap.dedent(_KILLED), f"{tmp_path}/w"]
    done = subprocess.run([*command, f"INSERT INTO t {ROWS}", str(BUFFERED)], check=False)
    assert done.returncode == -9
    assert len(_files(tmp_path)) == 1
    with gateway.connect(f"palimpsest:///{tmp_path}/w", autocommit=True) as again:
        assert _files(tmp_path) == []
        assert _all(again, "SELECT count(*) FROM t") == [(0,)]
