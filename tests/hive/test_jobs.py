"""Compaction and cleaning of journals in Spark: no answer changes, and what nobody reads goes."""

from __future__ import annotations

import pytest

from gateway.dbapi.connection import Connection
from journal.stores.hive.journal import HiveJournal
from spark_compaction.backends.hive import cleaning

pytestmark = pytest.mark.timeout(900)


def rows(con: Connection, sql: str) -> list[tuple[object, ...]]:
    return con.execute(sql).fetchall()


def _journal(con: Connection) -> HiveJournal:
    assert isinstance(con.session.journal, HiveJournal)
    return con.session.journal


def test_compaction_changes_no_answer(con: Connection) -> None:
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v VARCHAR)")
    con.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    then = rows(con, "SELECT max(version) FROM system.transactions")[0][0]
    con.execute("DELETE FROM t WHERE k = 1")
    con.execute("UPDATE t SET v = 'z' WHERE k = 2")
    past = f"SELECT * FROM t FOR SYSTEM_VERSION AS OF {then} ORDER BY k"
    before = rows(con, "SELECT * FROM t ORDER BY k"), rows(con, past)
    planned = con.execute("CALL system.compact('t', dry_run => true)").fetchall()
    assert planned[0][3] == "PLANNED"
    done = con.execute("CALL system.compact('t')").fetchall()
    assert done[0][3:6] == ("SUCCEEDED", *planned[0][4:6])
    tiers = rows(con, 'SELECT tier, "rows" FROM system.segments ORDER BY tier')
    assert tiers == [("base", 2), ("history", 2)]
    assert (rows(con, "SELECT * FROM t ORDER BY k"), rows(con, past)) == before
    con.execute("UPDATE t SET v = 'y' WHERE k = 3")
    assert rows(con, "SELECT * FROM t ORDER BY k") == [(2, "z"), (3, "y")]
    assert con.session.executor.sealer.verify().is_clean
    journal = _journal(con)
    with journal.store.connection() as connection:
        assert cleaning.reap(journal, connection) == []


def test_what_an_ended_gateway_left_is_removed(con: Connection) -> None:
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY)")
    con.execute("INSERT INTO t VALUES (1)")
    journal = _journal(con)
    table = next(journal.state.catalog.tables())
    listed = {s.files[0].path for s in journal.state.tables[table.id].manifest.segments}
    with journal.store.connection() as connection:
        left = journal.new_segment(table, connection)
        name, _, segment = left.partition("/")
        own = journal.names.own
        connection.execute(
            f"INSERT INTO {own}.{name} PARTITION (palimpsest_segment = '{segment}')"
            " SELECT 2, timestamp_micros(1), NULL"
        )
        assert rows(con, "SELECT * FROM t") == [(1,)]
        assert cleaning.remove_forsaken(journal, connection, 0) == []
        journal.staged.clear()
        assert cleaning.remove_forsaken(journal, connection) == []
        assert cleaning.remove_forsaken(journal, connection, 0) == [left]
        there = {f"{name}/{s}" for s in connection.partitions_of(own, name)}
    assert there == listed
