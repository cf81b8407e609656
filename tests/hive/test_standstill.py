"""A server that is there and answers nothing: who waits is told so, and what became of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

import gateway
from gateway.dbapi.connection import Connection
from journal.stores.hive.client import thrift_connection as hive
from journal.stores.hive.client.liveness import Pulse
from tests.support.relay import Relay
from tests.support.thrift_server import ThriftServer

pytestmark = [pytest.mark.stores, pytest.mark.timeout(900)]

SILENCE_S = 4
SLOW = "SELECT count(*) FROM t a, t b, t c, t d, t e, t f, t g WHERE a.k + b.k * c.k > f.k * g.k"
"""Takes longer than anybody here waits; it is stopped when it is given up."""


@pytest.fixture
def relay(server: ThriftServer) -> Iterator[Relay]:
    """A relay to the server; what it hushes no server hears, and every connection stays."""
    found = Relay(server.port)
    yield found
    found.close()


@pytest.fixture
def far(server: ThriftServer, relay: Relay, url: str) -> str:
    """The URL of a store behind the relay, of a table ``t``."""
    with gateway.connect(url, autocommit=True) as con:
        con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY)")
        con.execute("INSERT INTO t SELECT i FROM range(16) r(i)")
    return url.replace(f":{server.port}/", f":{relay.port}/")


def _fails(con: Connection, sql: str, *said: str) -> None:
    with pytest.raises(gateway.OperationalError) as raised:
        con.execute(sql)
    assert raised.value.code == "PAL-522"
    assert raised.value.sqlstate == "08006"
    for words in (*said, "nothing of the statement was kept"):
        assert words in f"{raised.value} {raised.value.advice}"


@pytest.mark.parametrize(
    ("call", "limit", "waits_s"),
    [
        ("GetOperationStatus", "silence_timeout", SILENCE_S + 5),
        ("ExecuteStatement", "answer_timeout", SILENCE_S),
    ],
)
@pytest.mark.parametrize("sql", ["SELECT count(*) FROM t", "COMMIT"])
def test_a_call_that_nobody_answers_ends(
    relay: Relay, far: str, call: str, limit: str, waits_s: int, sql: str
) -> None:
    url = f"{far}&{limit}={SILENCE_S}".replace("connect_timeout=120", "connect_timeout=10")
    with gateway.connect(far, autocommit=True) as after:
        with gateway.connect(url, autocommit=True) as con:
            con.execute("BEGIN")
            con.execute("INSERT INTO t VALUES (100)")
            relay.hushes = call.encode()
            _fails(con, sql, f"did not answer for {waits_s} s")
            relay.hushes = b""
            con.execute("ROLLBACK")
            assert con.execute("SELECT count(*) FROM t").fetchall() == [(16,)]
        assert after.execute("INSERT INTO t VALUES (100)").rowcount == 1
        assert after.execute("SELECT count(*) FROM t").fetchall() == [(17,)]


def test_a_login_that_nobody_answers_ends(relay: Relay, far: str) -> None:
    relay.hushes = b"OpenSession"
    with pytest.raises(gateway.OperationalError, match="takes connections and did not") as raised:
        gateway.connect(far.replace("connect_timeout=120", "connect_timeout=2"))
    assert raised.value.code == "PAL-520"
    assert "metastore" in raised.value.advice


def test_a_statement_ends_where_the_metastore_answers_nobody(
    relay: Relay, far: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hive, "EVERY_S", 0.5)
    with gateway.connect(f"{far}&answer_timeout=10", autocommit=True) as con:
        timer = threading.Timer(1.0, setattr, (relay, "hushes", b"OpenSession"))
        timer.start()
        _fails(con, SLOW, "metastore stands still", "answer_timeout")
        timer.join()
        relay.hushes = b""
        assert con.execute("SELECT count(*) FROM t").fetchall() == [(16,)]


class _Server:
    """What a pulse asks: it answers when it is told to."""

    def __init__(self) -> None:
        self.asked = 0
        self.now = 0.0
        self.answer = threading.Event()
        self.pulse = Pulse(self.ask, limit_s=10.0, every_s=5.0, now=lambda: self.now)

    def ask(self) -> bool:
        self.asked += 1
        return self.answer.wait(30)

    def at(self, now: float, began: float = 0.0) -> bool:
        self.now = now
        return self.pulse.is_felt(began)


def test_a_pulse_is_asked_for_once_for_all() -> None:
    server = _Server()
    assert server.at(4.0)
    assert server.at(6.0)
    assert all(server.at(16.0) for _ in range(9))
    assert not server.at(16.1), "asked ten seconds ago"
    assert server.at(16.1, began=16.0), "whoever came later waits as long"
    assert not server.at(26.1, began=16.0)
    assert server.asked == 1
    server.answer.set()
    until = time.monotonic() + 30
    while not server.at(26.1):
        assert time.monotonic() < until
    assert server.at(31.0)
    assert server.asked == 1, "the answer still holds"


def test_without_a_limit_nothing_is_asked() -> None:
    def ask() -> bool:
        raise AssertionError

    assert Pulse(ask, limit_s=0, every_s=0, now=lambda: 1e9).is_felt(0.0)
