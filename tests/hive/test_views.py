"""What other tools see in the metastore: current views and journals, and nothing uncommitted."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import gateway
from gateway.dbapi.connection import Connection
from journal.stores.hive.login import Server
from journal.stores.hive.thrift_connection import ThriftConnection
from tests.support.thrift_server import ThriftServer

pytestmark = [pytest.mark.stores, pytest.mark.timeout(900)]


@pytest.fixture
def con(url: str) -> Iterator[Connection]:
    with gateway.connect(url.replace("views=off", "held_rows=1000"), autocommit=True) as found:
        yield found


@pytest.fixture
def outside(server: ThriftServer) -> Iterator[ThriftConnection]:
    """Somebody who knows nothing of the gateway."""
    found = ThriftConnection(Server(server.host, server.port, "other", "default", "NOSASL"))
    yield found
    found.close()


def test_views_follow_what_is_committed(
    con: Connection, outside: ThriftConnection, url: str
) -> None:
    hr = f"{url.partition('prefix=')[2].partition('&')[0]}hr"
    con.execute("CREATE SCHEMA hr")
    con.execute("CREATE TABLE hr.depts (deptno INTEGER PRIMARY KEY, name VARCHAR)")
    con.execute("CREATE TABLE hr.empty (k INTEGER)")
    con.execute("CREATE VIEW hr.loud AS SELECT upper(name) AS name FROM hr.depts")
    con.execute("INSERT INTO hr.depts VALUES (1, 'Sales'), (2, 'Ops')")
    con.execute("DELETE FROM hr.depts WHERE deptno = 1")
    con.execute("BEGIN")
    con.execute("INSERT INTO hr.depts VALUES (3, 'not yet')")
    con.execute("CALL system.flush()")
    assert outside.run(f"SELECT * FROM {hr}.depts") == [(2, "Ops")]
    assert outside.run(f"SELECT count(*) FROM {hr}.depts_journal") == [(4,)]
    assert outside.run(f"SELECT * FROM {hr}.loud") == [("OPS",)]
    assert outside.run(f"SELECT * FROM {hr}.empty") == []
    con.execute("COMMIT")
    outside.run(f"CREATE TABLE {hr}.theirs (a INT)")
    with pytest.raises(gateway.ProgrammingError, match="not the gateway's"):
        con.execute("CREATE TABLE hr.theirs (a INTEGER)")
    con.execute("DROP VIEW hr.loud")
    con.execute("CALL system.flush()")
    assert sorted(outside.run(f"SELECT * FROM {hr}.depts")) == [(2, "Ops"), (3, "not yet")]
    assert outside.tables_of(hr) == ["depts", "depts_journal", "empty", "empty_journal", "theirs"]
