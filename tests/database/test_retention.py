"""Retention in a database: what goes, what stays to the row, holds, and who wrote meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import gateway
from gateway.dbapi.connection import Connection
from spark_compaction.backends.postgres import segment_swap
from spark_compaction.programs import retention_sql
from spark_compaction.programs.retention_sql import RetentionInSql
from tests.support import aged
from tests.support.aged import FRESH, retain, rows, set_policy


@pytest.fixture
def table(con: Connection) -> Connection:
    """The table that has aged."""
    aged.make(con)
    return con


def test_rows_past_their_date_go_and_no_other(table: Connection) -> None:
    aged.check_dates(table)


def test_versions_and_history_go_by_number_and_age(
    table: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    aged.check_versions(table, lambda: monkeypatch.setattr(retention_sql, "READ_US", 0))


def test_holds_keep_rows_and_tables(table: Connection) -> None:
    ((hold, *_),) = rows(table, "PLACE HOLD ON t WHERE n = 103 REASON 'matter 1'")
    set_policy(table, "RETENTION = 30 DAYS ON COLUMN ds")
    retain(table)
    assert rows(table, f"SELECT id FROM t WHERE NOT {FRESH}") == [(3,)]
    table.execute(f"RELEASE HOLD '{hold}'")
    ((hold, *_),) = rows(table, "PLACE HOLD ON t REASON 'matter 2'")
    assert retain(table)[3] == "NOTHING"
    table.execute(f"RELEASE HOLD '{hold}'")
    assert retain(table)[3] == "SUCCEEDED"


def test_a_row_that_is_ended_meanwhile_goes_in_the_next_round(
    table: Connection, connect: Callable[..., Connection], monkeypatch: pytest.MonkeyPatch
) -> None:
    set_policy(table, "RETENTION = 30 DAYS ON COLUMN ds")
    other, before = connect(), connect()
    before.execute("BEGIN")
    before.execute("UPDATE t SET n = 5 WHERE id = 1")
    stage, rounds = RetentionInSql.stage, iter((1, 2))

    def slow(*arguments: Any) -> Any:
        staged = stage(*arguments)
        if next(rounds, None) is not None:
            other.execute("UPDATE t SET n = n + 1 WHERE id = 2")
        return staged

    monkeypatch.setattr(RetentionInSql, "stage", slow)
    assert retain(table)[3] == "SUCCEEDED"
    assert rows(table, f"SELECT count(*) FROM t_journal WHERE NOT {FRESH}") == [(0,)]
    with pytest.raises(gateway.Error) as raised:
        before.execute("COMMIT")
    assert raised.value.sqlstate == "40001"
    journal = table.session.journal
    segment_swap.reap(journal, 1, list)
    assert table.session.executor.sealer.verify().is_clean


@pytest.mark.parametrize("kind", ["TIMESTAMP", "TIMESTAMPTZ", "VARCHAR"])
def test_dates_of_other_types(con: Connection, kind: str) -> None:
    con.execute(f"CREATE TABLE t (id INT PRIMARY KEY, ds {kind})")
    con.execute(
        "INSERT INTO t VALUES (1, '2024-03-01 23:59:59'), (2, '2024-03-02 00:00:00'), (3, NULL)"
    )
    if kind == "VARCHAR":
        con.execute("INSERT INTO t VALUES (4, 'never')")
    set_policy(con, "RETENTION = 30 DAYS ON COLUMN ds")
    retain(con)
    left = [row[0] for row in rows(con, "SELECT id FROM t ORDER BY id")]
    assert left == [2, 3, *([4] if kind == "VARCHAR" else [])]
