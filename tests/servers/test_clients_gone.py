"""Clients that leave without a word: nothing of theirs stays behind."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from gateway.config import Settings
from gateway.opening.warehouses import WAREHOUSES
from gateway.servers.addresses import Address, tcp_listener
from gateway.servers.ending import Ending
from gateway.servers.limits import ServerLimits
from gateway.servers.pgwire.admission import Admission
from gateway.servers.pgwire.server import PostgresServer

SLOW = b"SELECT sum(hash(a.x + b.x)) FROM range(10000000) a(x), range(10000000) b(x)"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[PostgresServer, str]]:
    """A server in this process, and how to connect to it."""
    warehouse = WAREHOUSES.acquire(f"palimpsest:///{tmp_path}/w")
    server = PostgresServer(
        lambda user, _application, _given, _role: warehouse.session(
            Settings(), dialect="postgres", autocommit=True, user=user
        ),
        ServerLimits(),
        Admission(trusts=True),
        Ending(0.0),
    )
    listener = tcp_listener(Address("127.0.0.1", 0))
    server.listen(listener)
    yield server, f"host=127.0.0.1 port={listener.getsockname()[1]} user=me dbname=palimpsest"
    server.close()
    WAREHOUSES.release(warehouse)


def until(server: PostgresServer, connections: int) -> None:
    end = time.monotonic() + 30
    while server.connections != connections and time.monotonic() < end:
        time.sleep(0.05)
    assert server.connections == connections


def test_a_statement_whose_client_has_gone_is_stopped(served: tuple[PostgresServer, str]) -> None:
    server, dsn = served
    connection = psycopg.connect(dsn, autocommit=True)
    connection.pgconn.send_query(SLOW)
    time.sleep(0.5)
    connection.close()
    until(server, 0)


@pytest.mark.long
def test_many_that_come_and_go_leave_no_thread_and_no_transaction(
    served: tuple[PostgresServer, str],
) -> None:
    server, dsn = served
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("CREATE TABLE t (a INTEGER PRIMARY KEY)")
        before = threading.active_count()
        for number in range(100):
            other = psycopg.connect(dsn)
            other.execute("INSERT INTO t VALUES (%s)", (number,))
            if number % 2:
                other.pgconn.finish()
            else:
                other.commit()
                other.close()
        until(server, 1)
        assert threading.active_count() <= before + 1
        assert connection.execute("SELECT count(*) FROM t").fetchone() == (50,)
