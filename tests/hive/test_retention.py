"""Retention and compaction of tables in several layouts: what goes, and what stays to the row."""

from __future__ import annotations

import pytest

from gateway.dbapi.connection import Connection
from spark_compaction.programs import retention_sql
from tests.support import aged
from tests.support.aged import FRESH, retain, rows, set_policy

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def table(con: Connection) -> Connection:
    """The table that has aged."""
    aged.make(con)
    return con


def test_rows_past_their_date_go_and_no_other(table: Connection) -> None:
    aged.check_dates(table)


@pytest.mark.slow
def test_versions_and_history_go_by_number_and_age(
    table: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    aged.check_versions(table, lambda: monkeypatch.setattr(retention_sql, "READ_US", 0))


def test_holds_keep_rows(table: Connection) -> None:
    set_policy(table, "RETENTION = 30 DAYS ON COLUMN ds")
    table.execute("CALL system.hold('t', where => 'id = 1', reason => 'matter 1')")
    assert retain(table)[3] == "SUCCEEDED"
    assert rows(table, f"SELECT id FROM t WHERE NOT {FRESH}") == [(1,)]


@pytest.mark.slow
def test_compaction_keeps_every_layout(table: Connection) -> None:
    ((then,),) = rows(table, "SELECT max(version) FROM system.transactions")
    table.execute("ALTER TABLE t DROP COLUMN n")
    table.execute("ALTER TABLE t ALTER COLUMN x TYPE BIGINT")
    table.execute("INSERT INTO t VALUES (2000, NULL, 5000000000)")
    table.execute("DELETE FROM t WHERE id = 6")
    table.execute("UPDATE t SET x = 2 WHERE id = 9")
    past = f"SELECT * FROM t FOR SYSTEM_VERSION AS OF {then} ORDER BY id"
    asked = (past, "SELECT * FROM t ORDER BY id", "SELECT count(*) FROM t FOR SYSTEM_TIME ALL")
    before = [rows(table, sql) for sql in asked]
    small = rows(table, "SELECT count(*) FROM system.segments")
    (merged,) = rows(table, "CALL system.compact('t', mode => 'minor')")
    assert merged[3] == "SUCCEEDED"
    assert rows(table, "SELECT count(*) FROM system.segments") < small
    assert [rows(table, sql) for sql in asked] == before
    (done,) = rows(table, "CALL system.compact('t')")
    assert done[3] == "SUCCEEDED"
    assert [rows(table, sql) for sql in asked] == before
    tiers = rows(table, "SELECT DISTINCT tier FROM system.segments ORDER BY tier")
    assert tiers == [("base",), ("history",)]
    assert table.session.executor.sealer.verify().is_clean
