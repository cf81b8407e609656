"""What other tools see in the metastore: current views and journals, and nothing uncommitted."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

import gateway
from gateway.dbapi.connection import Connection
from journal.stores.hive.client.login import Server
from journal.stores.hive.client.thrift_connection import ThriftConnection
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


@pytest.mark.parametrize(
    ("key", "compared"), [("INTEGER", "BroadcastHashJoin [k#, hash("), ("VARCHAR", "[k#, version")]
)
def test_a_changed_table_is_read_in_one_scan(
    con: Connection, outside: ThriftConnection, url: str, key: str, compared: str
) -> None:
    main = f"{url.partition('prefix=')[2].partition('&')[0]}default"
    con.execute(f"CREATE TABLE t (k {key} PRIMARY KEY, v VARCHAR)")
    con.execute("INSERT INTO t SELECT i, 'old' FROM range(50) r(i)")
    con.execute("CALL system.compact('t')")
    con.execute("UPDATE t SET v = 'new' WHERE k IN ('1', '2', '3')")
    con.execute("UPDATE t SET v = 'newer' WHERE k IN ('3', '4')")
    con.execute("DELETE FROM t WHERE k IN ('4', '5')")
    con.execute("INSERT INTO t VALUES ('4', 'back')")
    asked = "SELECT v, count(*) FROM {} GROUP BY v ORDER BY v"
    con.execute("CALL system.flush()")
    rows = [("back", 1), ("new", 2), ("newer", 1), ("old", 45)]
    assert outside.run(asked.format(f"{main}.t")) == rows
    assert con.execute(asked.format("t")).fetchall() == rows
    (plan,) = outside.run(f"EXPLAIN {asked.format(f'{main}.t')}")
    assert "Union" not in plan[0]
    assert plan[0].count("FileScan") == 2
    assert compared in re.sub(r"#\d+", "#", plan[0])
