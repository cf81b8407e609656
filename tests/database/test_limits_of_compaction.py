"""What minor and automatic compaction take of a table in a database."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from gateway.dbapi.connection import Connection
from journal.model.schema import Table
from journal.stores.postgres.journal import DatabaseJournal
from tests.support.postgres import Cluster

pytestmark = pytest.mark.stores


@pytest.fixture
def outside(cluster: Cluster, database: str) -> Iterator[psycopg.Connection[Any]]:
    """A connection of another tool."""
    with psycopg.connect(cluster.conninfo(database), autocommit=True) as found:
        yield found


def _rows(con: Connection, sql: str) -> list[tuple[Any, ...]]:
    return list(con.execute(sql).fetchall())


def _answers(con: Connection) -> list[list[tuple[Any, ...]]]:
    versions = [v for (v,) in _rows(con, "SELECT version FROM system.transactions ORDER BY 1")]
    asked = ["SELECT * FROM t ORDER BY a", "SELECT * FROM t WHERE a = 41"]
    asked += [f"SELECT count(*), max(b) FROM t FOR SYSTEM_VERSION AS OF {v}" for v in versions[1:]]
    asked.append("SELECT * FROM t FOR SYSTEM_TIME ALL ORDER BY a, version_number")
    return [_rows(con, sql) for sql in asked]


def _journal(con: Connection) -> tuple[DatabaseJournal, Table]:
    journal = con.session.journal
    assert isinstance(journal, DatabaseJournal)
    return journal, next(iter(journal.state.catalog.tables()))


def test_a_minor_compaction_puts_small_pieces_together(
    con: Connection, outside: psycopg.Connection[Any]
) -> None:
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR)")
    for number in range(3):
        con.execute(
            f"INSERT INTO t SELECT i, 'b' FROM range({number * 10}, {number * 10 + 10}) r(i)"
        )
        con.execute(f"UPDATE t SET b = 'c' WHERE a = {number}")
        con.execute(f"CALL system.backup('t', name => 'at {number}')")
    con.execute("DELETE FROM t WHERE a = 5")
    before = _answers(con)
    (planned,) = _rows(con, "CALL system.compact('t', mode => 'minor', dry_run => true)")
    (done,) = _rows(con, "CALL system.compact('t', mode => 'minor')")
    assert (planned[3], done[3]) == ("PLANNED", "SUCCEEDED")
    assert planned[4:7] == done[4:7]
    assert [len(json.loads(row[-1])["taken"]) for row in (planned, done)] == [4, 4]
    assert _answers(con) == before
    assert _rows(con, "SELECT tier FROM system.segments") == [("delta",)]
    assert _rows(con, "CALL system.compact('t', mode => 'minor')")[0][3] == "NOTHING"
    con.execute("OPTIMIZE t")
    assert _answers(con) == before
    assert con.session.executor.upkeep.verify().is_clean


def test_auto_follows_the_limits_of_the_table(con: Connection) -> None:
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR)")
    con.execute("INSERT INTO t SELECT i, 'b' FROM range(2000) r(i)")
    assert _rows(con, "CALL system.compact('t', mode => 'auto')")[0][3] == "SUCCEEDED"
    con.execute("UPDATE t SET b = 'c' WHERE a < 10")
    (left_alone,) = _rows(con, "CALL system.compact('t', mode => 'auto')")
    assert json.loads(left_alone[-1])["why"] == "no limit is exceeded"
    journal, table = _journal(con)
    assert len(journal.state.tables[table.id].manifest.heads) == 1
