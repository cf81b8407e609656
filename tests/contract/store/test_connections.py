"""What can go wrong between a gateway and a server: each has a code, and nothing is lost."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

import gateway
from gateway.dbapi.connection import Connection
from tests.support.kept import rows
from tests.support.postgres import free_port
from tests.support.relay import Relay
from tests.support.repeatedly import repeatedly
from tests.support.stores.store import Capability, Store

pytestmark = [pytest.mark.needs(Capability.SERVER), pytest.mark.timeout(900)]
SLOW = (
    "SELECT count(*) FROM t a, t b, t c, t d, t e, t f, t g WHERE a.k + b.k * c.k + f.k + g.k > 0"
)
"""Takes seconds over a table of sixteen rows, on fast machines too."""


@pytest.fixture
def relay(store: Store) -> Iterator[Relay]:
    """A relay to the server."""
    found = Relay(store.port)
    yield found
    found.close()


def _fill(con: Connection) -> None:
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY)")
    con.execute("INSERT INTO t SELECT i FROM range(16) r(i)")


@pytest.mark.parametrize(
    ("change", "code"),
    [("port", "PAL-520"), ("host", "PAL-520"), ("option", "PAL-603")],
)
def test_what_keeps_from_connecting(store: Store, change: str, code: str) -> None:
    url = store.url
    if change == "port":
        url = url.replace(f":{store.port}/", f":{free_port()}/")
    elif change == "host":
        url = url.replace("127.0.0.1", "host.invalid")
    else:
        url += f"{'&' if '?' in url else '?'}nonsense=1"
    with pytest.raises(gateway.Error) as raised:
        gateway.connect(url)
    assert raised.value.code == code
    assert raised.value.advice


@pytest.mark.also_on("hive")
def test_connections_that_died_while_they_were_idle_are_made_anew(
    store: Store, relay: Relay
) -> None:
    with store.connect_through(relay) as con:
        _fill(con)
        con.execute("BEGIN")
        con.execute("INSERT INTO t VALUES (100)")
        relay.cut()
        con.execute("COMMIT")
        relay.cut()
        assert rows(con, "SELECT count(*) FROM t") == [(17,)]
        relay.cut()
        con.execute("UPDATE t SET k = -k WHERE k > 10")
        relay.cut()
        assert rows(con, "SELECT sum(k) FROM t") == [(-110,)]


@pytest.mark.also_on("hive")
def test_several_connections_that_died_at_once(store: Store, relay: Relay) -> None:
    """Those that were lent come back after the others were found dead, and are not used again."""
    with store.connect_through(relay) as con:
        _fill(con)
        asked = [con.cursor() for _ in range(3)]
        for cursor in asked:
            cursor.execute("SELECT a.k FROM t a, t b, t c, t d")
            assert cursor.fetchone() is not None
        relay.cut()
        assert rows(con, "SELECT count(*) FROM t") == [(16,)]
        for cursor in asked:
            cursor.close()
        assert rows(con, "SELECT count(*) FROM t") == [(16,)]
        con.execute("UPDATE t SET k = -k WHERE k > 10")
        assert rows(con, "SELECT sum(k) FROM t") == [(-10,)]


@pytest.mark.also_on("hive")
def test_a_server_lost_within_a_statement_and_back_again(store: Store, relay: Relay) -> None:
    with store.connect_through(relay) as con:
        _fill(con)
        relay.word = b"COUNT("
        relay.passes_word = True
        with pytest.raises(gateway.OperationalError) as raised:
            con.execute(SLOW)
        assert raised.value.code == "PAL-522"
        # One connection is cut after the other: the next query could begin on one that is not yet.
        assert relay.has_cut.wait(60)
        assert rows(con, "SELECT count(*) FROM t") == [(16,)]


@pytest.mark.also_on("hive")
def test_statements_end_when_their_time_is_up_or_they_are_cancelled(
    store: Store, relay: Relay
) -> None:
    con = store.connect()
    _fill(con)
    with store.connect_through(relay, statement_timeout="1000") as hurried:
        with pytest.raises(gateway.OperationalError) as raised:
            hurried.execute(SLOW)
        assert (raised.value.code, raised.value.sqlstate) == ("PAL-407", "57014")
    began = time.monotonic()
    with pytest.raises(gateway.OperationalError) as raised, repeatedly(con.cancel, 0.5):
        con.execute(SLOW)
    assert raised.value.sqlstate == "57014"
    assert time.monotonic() - began < 60
    assert rows(con, "SELECT count(*) FROM t") == [(16,)]
