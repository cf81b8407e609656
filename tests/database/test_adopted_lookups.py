"""Statements over an adopted journal look its rows up by key, however their keys come about."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.procedures.adopting import adopt

_NAMES = ("_journal", "version_number", "subsequent_version_number")
_ROWS, _TIMES = 20_000, 10


@pytest.fixture(params=["id", "id, part"])
def key(request: pytest.FixtureRequest) -> str:
    """The columns of the key."""
    return str(request.param)


@pytest.fixture
def adopted(con: Connection, admin: psycopg.Connection[Any], key: str) -> Connection:
    """Table ``t`` over a classic journal: rows 0 to 19,999, of which 7 has ended."""
    admin.execute(
        "CREATE TABLE t_journal AS SELECT i AS id, 'p' AS part, 'n' || i AS name,"
        " TIMESTAMPTZ '2020-01-01' AS version_number,"
        " NULL::timestamptz AS subsequent_version_number"
        f" FROM generate_series(0, {_ROWS - 1}) AS i"
    )
    admin.execute("INSERT INTO t_journal VALUES (7, 'p', 'n7', '2020-01-02', '2020-01-02')")
    admin.execute("CREATE UNIQUE INDEX ON t_journal (id, part, version_number)")
    admin.execute("ANALYZE t_journal")
    adopt(con.session, "t", tuple(key.split(", ")), _NAMES, run=True)
    return con


STATEMENTS = {
    "INSERT INTO t VALUES (? + 30000, 'p', 'new')": None,
    "INSERT INTO t SELECT ? + 40000, 'p', 'new'": None,
    "INSERT INTO t SELECT 20 * ? + r.i, 'p', 'new' FROM range(50000, 50010) AS r(i)": None,
    "INSERT INTO t VALUES (? + 1, 'p', 'new') ON CONFLICT DO NOTHING": "n{}",
    "INSERT INTO t VALUES (? + 1, 'p', '+'), (? + 60000, 'p', 'b')"
    " ON CONFLICT ({key}) DO UPDATE SET name = t.name || excluded.name": "n{}+",
    "MERGE INTO t USING (SELECT ? + 1 AS id) AS s ON t.id = s.id AND t.part = 'p'"
    " WHEN MATCHED THEN UPDATE SET name = 'merged'": "merged",
}


def test_few_computed_keys_are_looked_up(
    adopted: Connection,
    connect: Callable[..., Connection],
    admin: psycopg.Connection[Any],
    key: str,
) -> None:
    adopted.close()
    before, con = _scans(admin), connect()
    for number, (sql, shown) in enumerate(STATEMENTS.items()):
        first = 1000 * (number + 1)
        for row in range(first, first + _TIMES):
            con.execute(sql.format(key=key), [row - 1] * sql.count("?"))
        if shown is not None:
            wanted = [(row, shown.format(row)) for row in range(first, first + _TIMES)]
            rows = f"SELECT id, name FROM t WHERE id >= {first} ORDER BY id LIMIT {_TIMES}"
            assert con.execute(rows).fetchall() == wanted
    con.close()
    assert _scans(admin) - before < _TIMES


def _scans(admin: psycopg.Connection[Any]) -> int:
    """How often the server has read all of the journal, in sessions that have ended."""
    others = "SELECT 1 FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> %s"
    while admin.execute(others, [admin.info.backend_pid]).fetchone() is not None:
        time.sleep(0.02)
    row = admin.execute(
        "SELECT seq_scan FROM pg_stat_user_tables WHERE relname = 't_journal'"
    ).fetchone()
    assert row is not None
    return int(row[0])


@pytest.mark.first(4)
@pytest.mark.parametrize("count", [3, 1500])
@pytest.mark.parametrize("explicit", [False, True])
def test_few_keys_and_many_are_told_apart_alike(
    adopted: Connection, key: str, count: int, explicit: bool
) -> None:
    """The rows that exist, that have ended, and that this transaction has written."""
    if explicit:
        adopted.execute("BEGIN")
        adopted.execute("INSERT INTO t VALUES (90000, 'p', 'mine')")
        with pytest.raises(gateway.IntegrityError):
            adopted.execute(f"INSERT INTO t SELECT 90000 + i, 'p', 'x' FROM range({count}) AS r(i)")
        adopted.execute("ROLLBACK")
        adopted.execute("BEGIN")
    with pytest.raises(gateway.IntegrityError):
        adopted.execute(
            f"INSERT INTO t SELECT {_ROWS - 1} + i, 'p', 'x' FROM range({count}) AS r(i)"
        )
    if explicit:
        adopted.execute("ROLLBACK")
        adopted.execute("BEGIN")
    source = f"SELECT i, 'p', 'new' FROM range(6, {6 + count}) AS r(i)"
    done = adopted.execute(f"INSERT INTO t {source} ON CONFLICT ({key}) DO NOTHING")
    assert done.rowcount == 1
    done = adopted.execute(
        f"INSERT INTO t {source} ON CONFLICT ({key}) DO UPDATE SET name = t.name || '+'"
    )
    assert done.rowcount == count
    if explicit:
        adopted.execute("COMMIT")
    found = adopted.execute("SELECT id, name FROM t WHERE id BETWEEN 6 AND 8 ORDER BY id")
    assert found.fetchall() == [(6, "n6+"), (7, "new+"), (8, "n8+")]
