"""A hot standby: what it has is read, as it was too; writes are refused, and what comes is seen."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator

import pytest

import gateway
from gateway.dbapi.connection import Connection
from tests.support.postgres import Cluster, free_port

pytestmark = pytest.mark.stores

_STARTED_S = 60


@pytest.fixture
def standby(cluster: Cluster, con: Connection, database: str) -> Iterator[str]:
    """The gateway's URL of the database on a standby of the server, which has a table."""
    if not (cluster.bin / "pg_basebackup").exists():
        pytest.skip("these programs of PostgreSQL have no pg_basebackup")
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR)")
    con.execute("INSERT INTO t VALUES (1, 'one'), (2, 'two')")
    con.execute("OPTIMIZE t")
    con.execute("UPDATE t SET b = 'zwei' WHERE a = 2")
    port, place = free_port(), f"standby_{database}"
    copy = ["pg_basebackup", "-h", "127.0.0.1", "-p", str(cluster.port), "-U", "tester"]
    copy += ["-D", place, "-R", "-X", "stream", "-c", "fast", "--no-sync"]
    subprocess.run(
        [str(cluster.bin / copy[0]), *copy[1:]],
        cwd=cluster.folder,
        user=cluster.account,
        check=True,
        capture_output=True,
    )
    settings = {"port": port, "unix_socket_directories": ".", "fsync": "off"}
    options = [part for k, v in settings.items() for part in ("-c", f"{k}={v}")]
    server = subprocess.Popen(
        [str(cluster.bin / "postgres"), "-D", place, *options],
        cwd=cluster.folder,
        user=cluster.account,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield f"palimpsest+postgresql://tester@127.0.0.1:{port}/{database}?connect_timeout=60"
    finally:
        server.terminate()
        server.wait(timeout=60)


def _waited(url: str) -> Connection:
    deadline = time.monotonic() + _STARTED_S
    while True:
        try:
            return gateway.connect(url, autocommit=True)
        except gateway.OperationalError:
            assert time.monotonic() < deadline
            time.sleep(0.2)


@pytest.mark.timeout(180)
def test_a_standby_reads_and_refuses_writes(con: Connection, standby: str) -> None:
    rows = [(1, "one"), (2, "zwei")]
    with _waited(standby) as far:
        assert far.execute("SELECT * FROM t ORDER BY a").fetchall() == rows
        assert far.execute("SELECT b, count(*) FROM t GROUP BY b ORDER BY b").fetchall() == [
            ("one", 1),
            ("zwei", 1),
        ]
        for sql in (
            "INSERT INTO t VALUES (3, 'three')",
            "DELETE FROM t",
            "CREATE TABLE u (a INTEGER)",
            "OPTIMIZE t",
        ):
            with pytest.raises(gateway.Error, match="takes no writes") as raised:
                far.execute(sql)
            assert raised.value.code == "PAL-524"
        con.execute("INSERT INTO t VALUES (4, 'four')")
        con.execute("OPTIMIZE t")
        rows.append((4, "four"))
        deadline = time.monotonic() + _STARTED_S
        while far.execute("SELECT * FROM t ORDER BY a").fetchall() != rows:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        ((version,),) = far.execute("SELECT max(version) FROM system.transactions").fetchall()
        past = f"SELECT count(*) FROM t FOR SYSTEM_VERSION AS OF {version - 1}"
        assert far.execute(past).fetchall() == [(2,)]
        # Points that lie above all that is there mean what is there, and are answered all the same.
        for past, count in (
            ("TIMESTAMP AS OF now()", 3),
            ("FOR SYSTEM_TIME AS OF now() + INTERVAL '1 hour'", 3),
            (f"FOR SYSTEM_VERSION AS OF {version}", 3),
            (f"FOR SYSTEM_VERSION AS OF {version + 1_000_000}", 3),
        ):
            found = far.execute(f"SELECT count(*) FROM t {past}").fetchall()
            assert found == [(count,)], past
        ((changes,),) = far.execute("SELECT count(*) FROM table_changes('t', 0)").fetchall()
        assert changes == 5
        far.execute("SET as_of = now()")
        assert far.execute("SELECT * FROM t ORDER BY a").fetchall() == rows
