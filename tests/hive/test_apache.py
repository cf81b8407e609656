"""The same store on Apache Hive itself, by its jars and in a container; else skipped."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.procedures.adopting import adopt, eject
from journal.stores.hive.journal import HiveJournal
from tests.support.thrift_server import ThriftServer

pytestmark = pytest.mark.timeout(1800)
IMAGE, PORT = "apache/hive:4.0.1", 10000
CLASSIC = ("_journal", "version_number", "subsequent_version_number")
MADE = (
    "CREATE TABLE t (k INTEGER PRIMARY KEY, name VARCHAR NOT NULL, d DECIMAL(10,2), seen TIMESTAMP)"
)
ROWS = (
    "INSERT INTO t VALUES (1, 'Sales', 1.5, TIMESTAMP '2024-01-01 00:00:00.123456'),"
    " (2, 'it''s \\ é;,', NULL, NULL), (3, '', -0.01, TIMESTAMP '1969-12-31 23:59:59.9')"
)
CHANGES = (
    ROWS,
    "UPDATE t SET name = 'Service' WHERE k = 1",
    "DELETE FROM t WHERE k = 3",
    "INSERT INTO t VALUES (4, 'four', 4, NULL), (5, 'five', 5.05, NULL)",
    "UPDATE t SET d = 7 WHERE k IN (2, 4)",
)
QUESTIONS = (
    "SELECT * FROM t ORDER BY k",
    "SELECT count(*), min(name), max(seen), count(d) FROM t",
    "SELECT d, count(*) FROM t GROUP BY d ORDER BY d NULLS FIRST",
    "SELECT a.k, b.d FROM t a JOIN t b ON a.k = b.k WHERE a.name LIKE 'S%' OR b.d = 7 ORDER BY 1",
    "SELECT k FROM t WHERE k NOT IN (SELECT k FROM t WHERE d = 7) ORDER BY k",
    "WITH q AS (SELECT k, row_number() OVER (ORDER BY k) n FROM t) SELECT k FROM q WHERE n = 2",
)


@pytest.fixture(scope="module")
def container() -> Iterator[ThriftServer]:
    if not os.environ.get("DOCKER_HOST") and not Path("/var/run/docker.sock").exists():
        pytest.skip("no container engine here: neither DOCKER_HOST nor /var/run/docker.sock")
    core = pytest.importorskip("testcontainers.core.container", reason="no testcontainers here")
    waiting = pytest.importorskip("testcontainers.core.waiting_utils")
    started = core.DockerContainer(IMAGE).with_env("SERVICE_NAME", "hiveserver2")
    started.with_exposed_ports(PORT).start()
    try:
        waiting.wait_for_logs(started, "Starting HiveServer2", timeout=300)
        host, mapped = started.get_container_host_ip(), int(started.get_exposed_port(PORT))
        yield ThriftServer(Path(), mapped, host)
    finally:
        started.stop()


@pytest.fixture(params=["apache", "container"])
def server(request: pytest.FixtureRequest) -> ThriftServer:
    found = request.getfixturevalue(request.param)
    assert isinstance(found, ThriftServer)
    return found


@pytest.fixture
def prefix() -> str:
    return f"p{uuid.uuid4().hex[:8]}_"


@pytest.fixture
def url(server: ThriftServer, prefix: str, tmp_path: Path) -> str:
    auth = "NOSASL" if server.folder != Path() else "NONE"
    return server.url(prefix, tmp_path / "catalog.db", auth=auth)


def _answers(con: Connection) -> list[list[tuple[object, ...]]]:
    return [con.execute(q).fetchall() for q in QUESTIONS]


@pytest.mark.parametrize("held_rows", [100_000, 0], ids=["held", "hive"])
def test_a_table_through_its_life(url: str, held_rows: int) -> None:
    oracle = duckdb.connect()
    for sql in (MADE, *CHANGES):
        oracle.execute(sql)
    expected = [oracle.execute(q).fetchall() for q in QUESTIONS]
    with gateway.connect(f"{url}&held_rows={held_rows}", autocommit=True) as con:
        con.execute(MADE)
        con.execute(CHANGES[0])
        before = con.execute("SELECT max(version_number) FROM t_journal").fetchone()
        for sql in CHANGES[1:]:
            con.execute(sql)
        assert _answers(con) == expected
        assert before is not None
        past = f"SELECT k, name FROM t FOR SYSTEM_TIME AS OF TIMESTAMP '{before[0]}' ORDER BY k"
        was = [(1, "Sales"), (2, "it's \\ é;,"), (3, "")]
        assert con.execute(past).fetchall() == was
        with pytest.raises(gateway.IntegrityError):
            con.execute("INSERT INTO t VALUES (1, 'again', 1, NULL)")
        con.execute("BEGIN")
        con.execute("UPDATE t SET name = 'gone' WHERE k = 5")
        assert con.execute("SELECT name FROM t WHERE k = 5").fetchall() == [("gone",)]
        con.execute("ROLLBACK")
        assert _answers(con) == expected
        assert "SUCCEEDED" in str(con.execute("CALL system.compact('t')").fetchall())
        assert _answers(con) == expected
        assert con.execute(past).fetchall() == was
    with gateway.connect(f"{url}&held_rows={held_rows}", autocommit=True) as con:
        assert _answers(con) == expected


def test_a_plain_table_is_adopted_and_left(url: str, prefix: str) -> None:
    hr = f"{prefix}hr"
    with gateway.connect(url, autocommit=True) as con:
        assert isinstance(con.session.journal, HiveJournal)
        with con.session.journal.store.connection() as outside:
            outside.execute(f"CREATE DATABASE {hr}")
            kinds = "(k int, v string) PARTITIONED BY (city string) STORED AS PARQUET"
            outside.execute(f"CREATE TABLE {hr}.t {kinds}")
            rows = "PARTITION (city = 'a') VALUES (1, 'one'), (2, NULL)"
            outside.execute(f"INSERT INTO {hr}.t {rows}")
            adopt(con.session, "hr.t", ("k",), CLASSIC, run=True)
            eject(con.session, "hr.t", run=True)
            read = f"SELECT k, v, city FROM {hr}.t ORDER BY k"
            assert outside.run(read) == [(1, "one", "a"), (2, None, "a")]
            adopt(con.session, "hr.t", ("k",), CLASSIC, run=True)
            con.execute("UPDATE hr.t SET v = 'two' WHERE k = 2")
            con.execute("INSERT INTO hr.t VALUES (3, 'three', 'b')")
            con.execute("DELETE FROM hr.t WHERE k = 1")
            con.execute("CALL system.flush()")
            now = [(2, "two", "a"), (3, "three", "b")]
            assert outside.run(read) == now
            con.execute("CALL system.compact('hr.t')")
            assert con.execute("SELECT * FROM hr.t ORDER BY k").fetchall() == now
            eject(con.session, "hr.t", run=True)
            assert outside.run(read) == now
            assert outside.run(f"SELECT count(*) FROM {hr}.t_history") == [(4,)]
