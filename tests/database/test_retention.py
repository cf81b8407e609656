"""Retention in a database: what goes, what stays to the row, holds, and who wrote meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import gateway
from gateway.dbapi.connection import Connection
from journal.database import replacing, retention

NOW = "2024-04-01"
FRESH = "(ds IS NULL OR ds >= DATE '2024-03-02')"


@pytest.fixture
def table(con: Connection) -> Connection:
    """Ninety days up to NOW in a base, history, two layouts and a head; some deleted or undated."""
    con.execute("CREATE TABLE t (id INT PRIMARY KEY, ds DATE, n INT)")
    con.execute(
        "INSERT INTO t SELECT i, CAST(DATE '2024-01-02' + i * INTERVAL '1' DAY AS DATE), i"
        " FROM range(90) r(i)"
    )
    con.execute("INSERT INTO t VALUES (1000, NULL, 7)")
    con.execute("UPDATE t SET n = n + 100 WHERE id % 3 = 0")
    con.execute("OPTIMIZE t")
    con.execute("DELETE FROM t WHERE id % 7 = 0")
    con.execute("ALTER TABLE t ADD COLUMN x INT")
    con.execute("UPDATE t SET x = 1 WHERE id % 5 = 0")
    return con


def _rows(con: Connection, sql: str) -> list[tuple[Any, ...]]:
    return list(con.execute(sql).fetchall())


def _retain(con: Connection, more: str = "") -> tuple[Any, ...]:
    (row,) = _rows(con, f"CALL system.retain('t', now => '{NOW}'{more})")
    return row


def _policy(con: Connection, text: str) -> None:
    con.execute(f"ALTER TABLE t SET POLICY ({text})")


def test_rows_past_their_date_go_and_no_other(table: Connection) -> None:
    _policy(table, "RETENTION = 30 DAYS ON COLUMN ds")
    asked = f"SELECT * FROM t {{}} WHERE {FRESH} ORDER BY id, version_number"
    kept = _rows(table, asked.format("FOR SYSTEM_TIME ALL"))
    present = _rows(table, f"SELECT * FROM t WHERE {FRESH} ORDER BY id")
    ((total,),) = _rows(table, "SELECT count(*) FROM t_journal")
    planned = _retain(table, ", dry_run => true")
    done = _retain(table)
    assert (planned[3], done[3]) == ("PLANNED", "SUCCEEDED")
    assert planned[6] == done[6] > 60
    assert _rows(table, "SELECT count(*) FROM t_journal") == [(total - done[6],)]
    assert _rows(table, "SELECT * FROM t ORDER BY id") == present
    assert _rows(table, asked.format("FOR SYSTEM_TIME ALL")) == kept
    assert _rows(table, f"SELECT count(*) FROM t_journal WHERE NOT {FRESH}") == [(0,)]
    assert _retain(table)[3] == "NOTHING"
    assert table.session.executor.sealer.verify().is_clean
    table.execute("UPDATE t SET n = 0")
    table.execute("OPTIMIZE t")
    assert _rows(table, "SELECT sum(n), count(*) FROM t") == [(0, len(present))]


def test_versions_and_history_go_by_number_and_age(
    table: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        table.execute(f"UPDATE t SET n = {number} WHERE id IN (80, 81)")
    _policy(table, "VERSIONS = 2")
    present = _rows(table, "SELECT * FROM t ORDER BY id")
    assert _retain(table)[3] == "NOTHING"
    monkeypatch.setattr(retention, "_READ_US", 0)
    assert _retain(table)[3] == "SUCCEEDED"
    ever = "SELECT n FROM t FOR SYSTEM_TIME ALL WHERE id = 80 ORDER BY version_number"
    assert _rows(table, ever) == [(2,), (3,)]
    assert _rows(table, "SELECT * FROM t ORDER BY id") == present
    _policy(table, "VERSIONS = NONE, HISTORY = 1 DAY")
    (row,) = _rows(table, "CALL system.retain('t', now => '2100-01-01')")
    assert row[3] == "SUCCEEDED"
    assert _rows(table, ever) == [(3,)]
    assert _rows(table, "SELECT * FROM t ORDER BY id") == present
    assert table.session.executor.sealer.verify().is_clean


def test_holds_keep_rows_and_tables(table: Connection) -> None:
    ((hold, *_),) = _rows(table, "PLACE HOLD ON t WHERE n = 103 REASON 'matter 1'")
    _policy(table, "RETENTION = 30 DAYS ON COLUMN ds")
    _retain(table)
    assert _rows(table, f"SELECT id FROM t WHERE NOT {FRESH}") == [(3,)]
    table.execute(f"RELEASE HOLD '{hold}'")
    ((hold, *_),) = _rows(table, "PLACE HOLD ON t REASON 'matter 2'")
    assert _retain(table)[3] == "NOTHING"
    table.execute(f"RELEASE HOLD '{hold}'")
    assert _retain(table)[3] == "SUCCEEDED"


def test_a_row_that_is_ended_meanwhile_goes_in_the_next_round(
    table: Connection, connect: Callable[..., Connection], monkeypatch: pytest.MonkeyPatch
) -> None:
    _policy(table, "RETENTION = 30 DAYS ON COLUMN ds")
    other, before = connect(), connect()
    before.execute("BEGIN")
    before.execute("UPDATE t SET n = 5 WHERE id = 1")
    stage, rounds = retention.rewriting.rewrite, iter((1, 2))

    def slow(*arguments: Any) -> Any:
        staged = stage(*arguments)
        if next(rounds, None) is not None:
            other.execute("UPDATE t SET n = n + 1 WHERE id = 2")
        return staged

    monkeypatch.setattr(retention.rewriting, "rewrite", slow)
    assert _retain(table)[3] == "SUCCEEDED"
    assert _rows(table, f"SELECT count(*) FROM t_journal WHERE NOT {FRESH}") == [(0,)]
    with pytest.raises(gateway.Error) as raised:
        before.execute("COMMIT")
    assert raised.value.sqlstate == "40001"
    journal = table.session.journal
    replacing.reap(journal, 1, journal.clock.now())
    assert table.session.executor.sealer.verify().is_clean


@pytest.mark.parametrize("kind", ["TIMESTAMP", "TIMESTAMPTZ", "VARCHAR"])
def test_dates_of_other_types(con: Connection, kind: str) -> None:
    con.execute(f"CREATE TABLE t (id INT PRIMARY KEY, ds {kind})")
    con.execute(
        "INSERT INTO t VALUES (1, '2024-03-01 23:59:59'), (2, '2024-03-02 00:00:00'), (3, NULL)"
    )
    if kind == "VARCHAR":
        con.execute("INSERT INTO t VALUES (4, 'never')")
    _policy(con, "RETENTION = 30 DAYS ON COLUMN ds")
    _retain(con)
    left = [row[0] for row in _rows(con, "SELECT id FROM t ORDER BY id")]
    assert left == [2, 3, *([4] if kind == "VARCHAR" else [])]


def test_what_a_database_does_not_do_is_refused(table: Connection) -> None:
    _policy(table, "RETENTION = 30 DAYS ON COLUMN ds ACTION = ARCHIVE")
    with pytest.raises(gateway.NotSupportedError, match="archive"):
        _retain(table)
