"""Partitions that an ended gateway has left: they are no rows of a table, and are removed."""

from __future__ import annotations

import pytest

from gateway.dbapi.connection import Connection
from journal.stores.hive.journal import HiveJournal
from spark_compaction.backends.hive import cleaning

pytestmark = [pytest.mark.stores, pytest.mark.timeout(900)]


def rows(con: Connection, sql: str) -> list[tuple[object, ...]]:
    return con.execute(sql).fetchall()


def _journal(con: Connection) -> HiveJournal:
    assert isinstance(con.session.journal, HiveJournal)
    return con.session.journal


def test_what_an_ended_gateway_left_is_removed(con: Connection) -> None:
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY)")
    con.execute("INSERT INTO t VALUES (1)")
    journal = _journal(con)
    table = next(journal.state.catalog.tables())
    listed = {s.files[0].path for s in journal.state.tables[table.id].manifest.segments}
    with journal.store.connection() as connection:
        with journal.new_segment(table, connection) as left:
            pass
        name, _, segment = left.partition("/")
        own = journal.names.journal_database
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
