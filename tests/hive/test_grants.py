"""A server whose user lacks grants on folders: each has a code, and nothing is lost.

The folders' modes are what storage-based authorization looks at; root passes them, so the server
is run by somebody else.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import gateway
from gateway.dbapi.connection import Connection
from journal.stores.hive.journal import HiveJournal
from tests.support.thrift_server import ThriftServer, own

pytestmark = [pytest.mark.stores, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def server() -> Iterator[ThriftServer]:
    """A server that is not run by root."""
    if os.getuid() != 0:
        pytest.skip("only root can run a server as another user")
    with own(user="nobody") as found:
        yield found


@pytest.fixture
def table(con: Connection) -> Path:
    """The folder of the journal of a table with one row."""
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v VARCHAR)")
    con.execute("INSERT INTO t VALUES (1, 'kept')")
    journal = con.session.journal
    assert isinstance(journal, HiveJournal)
    (state,) = journal.state.tables.values()
    name = state.manifest.segments[0].files[0].path.partition("/")[0]
    with journal.store.connection() as plain:
        rows = plain.run(f"DESCRIBE FORMATTED {journal.names.journal_database}.{name}")
    place = next(str(row[1]) for row in rows if str(row[0]).strip() == "Location")
    return Path(place.removeprefix("file:"))


@contextmanager
def _mode(folder: Path, mode: int) -> Iterator[None]:
    before = folder.stat().st_mode
    folder.chmod(mode)
    try:
        yield
    finally:
        folder.chmod(before)


def _refused(con: Connection, sql: str) -> gateway.Error:
    with pytest.raises(gateway.Error) as raised:
        con.execute(sql).fetchall()
    return raised.value


def test_no_grant_to_write(con: Connection, table: Path) -> None:
    with _mode(table, 0o555):
        # All that Spark says is that it could not make the partition's folder.
        assert _refused(con, "INSERT INTO t VALUES (2, 'lost')").code == "PAL-504"
        assert con.execute("SELECT v FROM t").fetchall() == [("kept",)]
    con.execute("INSERT INTO t VALUES (2, 'kept, too')")
    assert con.execute("SELECT count(*) FROM t").fetchall() == [(2,)]
    assert con.session.executor.upkeep.verify().is_clean


def test_no_grant_to_read(con: Connection, table: Path) -> None:
    partition = next(p for p in table.iterdir() if p.name.startswith("palimpsest_segment="))
    with _mode(partition, 0o000):
        error = _refused(con, "SELECT max(v) FROM t")
        assert (error.code, error.sqlstate) == ("PAL-523", "42501")
    assert con.execute("SELECT max(v) FROM t").fetchall() == [("kept",)]


def test_no_grant_to_create(con: Connection, table: Path) -> None:
    with _mode(table.parent, 0o555):
        con.execute("CREATE TABLE other (k INTEGER PRIMARY KEY)")
        error = _refused(con, "INSERT INTO other VALUES (1)")
        assert error.code == "PAL-504", str(error)
    con.execute("INSERT INTO other VALUES (1)")
    assert con.execute("SELECT count(*) FROM other").fetchall() == [(1,)]
