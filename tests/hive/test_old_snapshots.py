"""What a transaction reads stays as it was, or is an error: never less, whatever jobs drop."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import gateway
from gateway.dbapi.connection import Connection
from journal.stores.hive.journal import HiveJournal
from spark_compaction.backends.hive import cleaning

pytestmark = [pytest.mark.stores, pytest.mark.timeout(900)]


@pytest.fixture
def reader(url: str) -> Iterator[Connection]:
    """A connection through another gateway, which learns of jobs when it looks."""
    with gateway.connect(f"{url}&lease=14", autocommit=True) as found:
        yield found


def _many(con: Connection) -> None:
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v VARCHAR)")
    con.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    con.execute("INSERT INTO t VALUES (3, 'c')")
    con.execute("UPDATE t SET v = 'B' WHERE k = 2")


def test_a_snapshot_whose_partitions_a_vacuum_dropped(con: Connection, reader: Connection) -> None:
    _many(con)
    reader.execute("BEGIN")
    assert reader.execute("SELECT v FROM t ORDER BY k").fetchall() == [("a",), ("B",), ("c",)]
    con.execute("CALL system.compact('t')")
    journal = con.session.journal
    assert isinstance(journal, HiveJournal)
    with journal.store.connection() as connection:
        assert cleaning.reap(journal, connection, chosen=list)
    with pytest.raises(gateway.OperationalError, match="written anew") as raised:
        reader.execute("SELECT v FROM t ORDER BY k")
    assert raised.value.sqlstate == "40001"
    reader.execute("ROLLBACK")
    assert reader.execute("SELECT v FROM t ORDER BY k").fetchall() == [("a",), ("B",), ("c",)]


def test_a_snapshot_whose_partitions_a_purge_dropped(con: Connection, reader: Connection) -> None:
    _many(con)
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM t").fetchall() == [(3,)]
    con.execute("ERASE FROM t WHERE k = 1")
    con.execute("CALL system.purge()")
    with pytest.raises(gateway.OperationalError, match="written anew") as raised:
        reader.execute("SELECT max(v) FROM t")
    assert raised.value.sqlstate == "40001"
    reader.execute("ROLLBACK")
    assert reader.execute("SELECT v FROM t ORDER BY k").fetchall() == [("B",), ("c",)]


def test_a_snapshot_whose_partitions_are_there_still(con: Connection, reader: Connection) -> None:
    _many(con)
    reader.execute("BEGIN")
    for job in ("SELECT 1", "CALL system.compact('t')", "UPDATE t SET v = 'x'", "OPTIMIZE t"):
        con.execute(job)
        assert reader.execute("SELECT v FROM t ORDER BY k").fetchall() == [("a",), ("B",), ("c",)]
