"""Retention and compaction of tables in several layouts: what goes, and what stays to the row."""

from __future__ import annotations

from typing import Any

import pytest

import gateway
from gateway.dbapi.connection import Connection
from journal.hive import retention

pytestmark = pytest.mark.timeout(900)
NOW = "2024-04-01"
FRESH = "(ds IS NULL OR ds >= DATE '2024-03-02')"


@pytest.fixture
def table(con: Connection) -> Connection:
    """Ninety days up to NOW in a base, history, two layouts and deltas; some deleted or undated."""
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
    _policy(table, "VERSIONS = NONE, HISTORY = 1 DAY")
    (row,) = _rows(table, "CALL system.retain('t', now => '2100-01-01')")
    assert row[3] == "SUCCEEDED"
    assert _rows(table, ever) == [(3,)]
    assert _rows(table, "SELECT * FROM t ORDER BY id") == present
    assert table.session.executor.sealer.verify().is_clean


def test_holds_keep_rows_and_an_archive_is_refused(table: Connection) -> None:
    _policy(table, "RETENTION = 30 DAYS ON COLUMN ds")
    table.execute("CALL system.hold('t', where => 'id = 1', reason => 'matter 1')")
    assert _retain(table)[3] == "SUCCEEDED"
    assert _rows(table, f"SELECT id FROM t WHERE NOT {FRESH}") == [(1,)]
    _policy(table, "RETENTION = 10 DAYS ON COLUMN ds ACTION = ARCHIVE")
    with pytest.raises(gateway.Error, match="no archive"):
        table.execute(f"CALL system.retain('t', now => '{NOW}')")


def test_compaction_keeps_every_layout(table: Connection) -> None:
    ((then,),) = _rows(table, "SELECT max(version) FROM system.transactions")
    table.execute("ALTER TABLE t DROP COLUMN n")
    table.execute("ALTER TABLE t ALTER COLUMN x TYPE BIGINT")
    table.execute("INSERT INTO t VALUES (2000, NULL, 5000000000)")
    table.execute("DELETE FROM t WHERE id = 6")
    table.execute("UPDATE t SET x = 2 WHERE id = 9")
    past = f"SELECT * FROM t FOR SYSTEM_VERSION AS OF {then} ORDER BY id"
    asked = (past, "SELECT * FROM t ORDER BY id", "SELECT count(*) FROM t FOR SYSTEM_TIME ALL")
    before = [_rows(table, sql) for sql in asked]
    small = _rows(table, "SELECT count(*) FROM system.segments")
    (merged,) = _rows(table, "CALL system.compact('t', mode => 'minor')")
    assert merged[3] == "SUCCEEDED"
    assert _rows(table, "SELECT count(*) FROM system.segments") < small
    assert [_rows(table, sql) for sql in asked] == before
    (done,) = _rows(table, "CALL system.compact('t')")
    assert done[3] == "SUCCEEDED"
    assert [_rows(table, sql) for sql in asked] == before
    tiers = _rows(table, "SELECT DISTINCT tier FROM system.segments ORDER BY tier")
    assert tiers == [("base",), ("history",)]
    assert table.session.executor.sealer.verify().is_clean
