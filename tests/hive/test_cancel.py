"""What nobody waits for any more stops in the server, too: a table it would make never comes."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator

import pytest

import gateway
from gateway.dbapi.connection import Connection
from journal.model.errors import Code, PalimpsestError
from journal.stores.hive.client.login import Server
from journal.stores.hive.client.thrift_connection import ThriftConnection
from tests.support.relay import Relay
from tests.support.repeatedly import repeatedly
from tests.support.thrift_server import ThriftServer

pytestmark = [pytest.mark.timeout(900), pytest.mark.stores]

SLOW = "SELECT count(*) AS n FROM range(0, 200000000, 1, 2) WHERE hash(id) % 1000 = 1"
"""Takes some seconds."""
_LATER_S = 20.0


@pytest.fixture
def relay(server: ThriftServer) -> Iterator[Relay]:
    """A relay to the server."""
    found = Relay(server.port)
    yield found
    found.close()


def _connection(server: ThriftServer, port: int | None = None, **options: int) -> ThriftConnection:
    where = server.port if port is None else port
    return ThriftConnection(
        Server(server.host, where, "tester", "default", "NOSASL", connect_timeout_s=120, **options)
    )


def _ends(connection: ThriftConnection, sql: str, code: Code) -> None:
    with pytest.raises(PalimpsestError) as raised:
        connection.execute(sql)
    assert raised.value.code is code
    connection.close()


def _interrupted(server: ThriftServer, relay: Relay, sql: str) -> None:
    connection = _connection(server)
    with repeatedly(connection.interrupt, 1.0):
        _ends(connection, sql, Code.CANCELLED)


def _out_of_time(server: ThriftServer, relay: Relay, sql: str) -> None:
    _ends(_connection(server, statement_timeout_ms=1000), sql, Code.CANCELLED)


def _cut_off(server: ThriftServer, relay: Relay, sql: str) -> None:
    connection = _connection(server, relay.port)
    timer = threading.Timer(1.0, relay.cut)
    timer.start()
    _ends(connection, sql, Code.STORE_LOST)
    timer.join()


@pytest.mark.parametrize(
    "end",
    [
        _interrupted,
        pytest.param(_out_of_time, marks=pytest.mark.stores),
        pytest.param(_cut_off, marks=pytest.mark.stores),
    ],
)
def test_a_statement_stops_in_the_server(
    server: ThriftServer, relay: Relay, end: Callable[[ThriftServer, Relay, str], None]
) -> None:
    name = f"slow_{uuid.uuid4().hex[:8]}"
    other = _connection(server)
    try:
        end(server, relay, f"CREATE TABLE {name} AS {SLOW}")
        until = time.monotonic() + _LATER_S
        while time.monotonic() < until:
            assert not other.has_relation("default", name)
            time.sleep(1.0)
    finally:
        other.run(f"DROP TABLE IF EXISTS {name}")
        other.close()


def test_closing_a_connection_stops_what_it_runs(connect: Callable[..., Connection]) -> None:
    con = connect()
    con.execute("CREATE TABLE t (k INTEGER)")
    con.execute("INSERT INTO t SELECT i FROM range(40) r(i)")
    product = ", ".join(f"t AS {name}" for name in "abcdef")
    total = " + ".join(f"{name}.k" for name in "abcdef")
    found: list[gateway.Error] = []

    def run() -> None:
        try:
            con.execute(f"SELECT count(*) FROM {product} WHERE hash({total}) = 1")
        except gateway.Error as error:
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    time.sleep(2.0)
    began = time.monotonic()
    con.close()
    thread.join()
    assert [error.sqlstate for error in found] == ["57014"]
    assert time.monotonic() - began < 60
