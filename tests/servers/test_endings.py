"""How servers end, and how they end what waits: over PostgreSQL's protocol, Hive's, and HTTP."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pyhive import exc, hive
from thrift.transport.THttpClient import THttpClient
from thrift.transport.TTransport import TTransportException

from gateway.config import Settings
from gateway.opening.open_warehouse import OpenWarehouse
from gateway.opening.warehouses import WAREHOUSES
from gateway.servers.addresses import Address, tcp_listener
from gateway.servers.ending import Ending
from gateway.servers.hive.http_server import HiveHttpServer
from gateway.servers.hive.server import HiveServer
from gateway.servers.limits import ServerLimits
from gateway.servers.pgwire.admission import Admission
from gateway.servers.pgwire.server import PostgresServer
from gateway.session.session import Session
from journal.model.access import Role

_DRAIN_S = 8.0
_IDLE_S = 1.0


@dataclass(slots=True)
class Ports:
    """The servers of one warehouse, and where they are."""

    servers: tuple[PostgresServer, HiveServer, HiveHttpServer]
    ending: Ending
    postgres: int
    hive: int
    http: int
    kept: ExitStack

    def close(self) -> float:
        """End all, one after another as a process does; how long that took."""
        began = time.monotonic()
        self.ending.begin()
        for server in self.servers:
            server.close()
        return time.monotonic() - began

    def over_postgres(self) -> Any:
        """A connection of psycopg."""
        dsn = f"host=127.0.0.1 port={self.postgres} user=me dbname=palimpsest"
        return self.kept.enter_context(closing(psycopg.connect(dsn, autocommit=True)))

    def over_hive(self) -> Any:
        """A connection of PyHive, by the binary protocol."""
        return self._kept(hive.connect("127.0.0.1", self.hive, "me"))

    def over_http(self) -> Any:
        """The same over HTTP."""
        transport = THttpClient(f"http://127.0.0.1:{self.http}/cliservice")
        hive.Connection._set_authorization_header(transport, "me", "")
        return self._kept(hive.connect(thrift_transport=transport))

    def _kept(self, connection: Any) -> Any:
        # Its ``close`` calls the server, which may have ended.
        self.kept.callback(connection._transport.close)
        return connection


def _sessions(opened: OpenWarehouse, dialect: str) -> Any:
    def session(
        user: str | None, application: str | None, given: Mapping[str, str], role: Role | None
    ) -> Session:
        del application, given, role
        return opened.session(Settings(), dialect=dialect, autocommit=True, user=user)

    return session


@contextmanager
def _serving(folder: Path, limits: ServerLimits) -> Iterator[Ports]:
    opened = WAREHOUSES.acquire(f"palimpsest:///{folder}/w")
    listeners = [tcp_listener(Address("127.0.0.1", 0)) for _ in range(3)]
    ending, trusted = Ending(_DRAIN_S), Admission(trusts=True)
    served = (_sessions(opened, "postgres"), limits, trusted, ending)
    of_hive = (_sessions(opened, "hive"), limits, trusted, ending)
    postgres, binary = PostgresServer(*served), HiveServer(*of_hive)
    postgres.listen(listeners[0])
    binary.listen(listeners[1])
    http = HiveHttpServer(listeners[2], *of_hive)
    numbers = [listener.getsockname()[1] for listener in listeners]
    kept = ExitStack()
    found = Ports((postgres, binary, http), ending, *numbers, kept)
    with found.over_postgres() as connection:
        connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)")
    yield found
    kept.close()
    found.close()
    WAREHOUSES.release(opened)


@pytest.fixture
def ports(tmp_path: Path) -> Iterator[Ports]:
    with _serving(tmp_path, ServerLimits()) as found:
        yield found


def _open_transaction(connection: Any) -> Any:
    cursor = connection.cursor()
    for text in ("BEGIN", "INSERT INTO t VALUES (1)"):
        cursor.execute(text)
    return cursor


_SLOW = pytest.mark.slow


@pytest.mark.long
@pytest.mark.parametrize(
    "way",
    [
        pytest.param("over_postgres", marks=_SLOW),
        pytest.param("over_hive", marks=_SLOW),
        "over_http",
    ],
)
def test_a_transaction_that_waits_too_long_is_rolled_back(tmp_path: Path, way: str) -> None:
    with _serving(tmp_path, ServerLimits(idle_transaction_s=_IDLE_S)) as ports:
        cursor = _open_transaction(getattr(ports, way)())
        time.sleep(_IDLE_S + 2.0)
        with pytest.raises((exc.Error, psycopg.Error, TTransportException, EOFError, OSError)):
            cursor.execute("COMMIT")
        with ports.over_postgres() as other:
            assert other.execute("SELECT count(*) FROM t").fetchone() == (0,)


@pytest.mark.first(1)
@pytest.mark.parametrize(("limit", "code"), [("idle_s", "612"), ("idle_transaction_s", "613")])
def test_a_client_of_hive_hears_why_its_session_has_ended(
    tmp_path: Path, limit: str, code: str
) -> None:
    with _serving(tmp_path, ServerLimits(**{limit: 0.5})) as ports:
        connection = ports.over_hive()
        cursor = _open_transaction(connection) if code == "613" else connection.cursor()
        time.sleep(2.5)
        with pytest.raises(exc.OperationalError, match=f"PAL-{code}"):
            cursor.execute("SELECT 1")
        again = ports.over_hive().cursor()
        again.execute("SELECT count(*) FROM t")
        assert again.fetchall() == [(0,)]


@pytest.mark.parametrize("way", ["over_postgres", "over_hive", "over_http"])
def test_an_end_lets_an_open_transaction_commit(ports: Ports, way: str) -> None:
    cursor = _open_transaction(getattr(ports, way)())
    took: list[float] = []
    ending = threading.Thread(target=lambda: took.append(ports.close()))
    ending.start()
    time.sleep(0.5)
    cursor.execute("COMMIT")
    ending.join(30)
    assert took[0] < _DRAIN_S


@pytest.mark.slow
def test_an_end_takes_no_longer_than_its_time_over_all_ports(ports: Ports) -> None:
    connections = [ports.over_postgres(), ports.over_hive(), ports.over_http()]
    cursors = [connection.cursor() for connection in connections]
    for cursor in cursors:
        cursor.execute("BEGIN")
    assert ports.close() < _DRAIN_S + 2.0
