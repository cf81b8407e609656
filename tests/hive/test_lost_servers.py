"""What can go wrong between gateway, server and catalog: each has a code, and nothing is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import gateway
from gateway.dbapi.connection import Connection
from journal.stores.hive.client import thrift_connection as hive
from tests.support.postgres import Cluster, free_port, running
from tests.support.relay import Relay
from tests.support.thrift_server import ThriftServer

pytestmark = [pytest.mark.stores, pytest.mark.timeout(900)]

SLOW = "SELECT count(*) FROM t a, t b, t c, t d, t e, t f WHERE a.k + b.k * c.k + f.k > 0"
"""Takes seconds over a table of sixteen rows; a server that lost its client runs it to its end."""


@pytest.fixture
def relay(server: ThriftServer) -> Iterator[Relay]:
    """A relay to the server."""
    found = Relay(server.port)
    yield found
    found.close()


def _far(server: ThriftServer, relay: Relay, url: str) -> str:
    return url.replace(f":{server.port}/", f":{relay.port}/")


def _filled(con: Connection) -> None:
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY)")
    con.execute("INSERT INTO t SELECT i FROM range(16) r(i)")


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("palimpsest+hive://me@127.0.0.1:{free}/default?auth=NOSASL", "PAL-520"),
        ("palimpsest+hive://me@host.invalid/default?auth=NOSASL", "PAL-520"),
        ("palimpsest+hive://me@127.0.0.1:{free}/default?auth=LDAP", "PAL-603"),
        ("palimpsest+hive://me@127.0.0.1:{free}/default?auth=MAGIC", "PAL-603"),
        ("palimpsest+hive://me@127.0.0.1:{free}/default?auth=KERBEROS", "PAL-603"),
        ("palimpsest+hive://me@127.0.0.1:{free}/default?nonsense=1", "PAL-603"),
    ],
)
def test_what_keeps_from_connecting(url: str, code: str) -> None:
    with pytest.raises(gateway.Error) as raised:
        gateway.connect(url.format(free=free_port()))
    assert raised.value.code == code


def test_a_password_is_never_shown() -> None:
    url = f"palimpsest+hive://me:secret-1@127.0.0.1:{free_port()}/default?auth=LDAP"
    with pytest.raises(gateway.Error) as raised:
        gateway.connect(url)
    shown, error = "", raised.value
    while error is not None:
        shown += f"{error!r} {error}"
        error = error.__cause__  # type: ignore[assignment]
    assert "secret-1" not in shown


def test_a_database_or_catalog_that_is_not_there(server: ThriftServer, tmp_path: Path) -> None:
    url = server.url("p_", tmp_path / "catalog.db").replace("/default?", "/nothing_here?")
    with pytest.raises(gateway.Error) as raised:
        gateway.connect(url)
    assert raised.value.code == "PAL-521"
    with pytest.raises(gateway.Error) as raised:
        gateway.connect(server.url("p_", tmp_path / "missing" / "catalog.db"))
    assert raised.value.code == "PAL-507"
    assert str(tmp_path / "missing") in str(raised.value)


def test_an_auth_that_is_not_the_servers(server: ThriftServer, tmp_path: Path) -> None:
    url = server.url("p_", tmp_path / "catalog.db").replace("auth=NOSASL", "auth=NONE")
    with pytest.raises(gateway.Error, match="ended the connection at the login") as raised:
        gateway.connect(url)
    assert raised.value.code == "PAL-520"
    assert "NOSASL" in raised.value.advice


@pytest.mark.parametrize("passes", ["nothing", "the append", "the append without its answer"])
def test_a_server_lost_within_a_commit_keeps_nothing_of_it(
    server: ThriftServer, relay: Relay, url: str, passes: str
) -> None:
    with gateway.connect(_far(server, relay, url), autocommit=True) as con:
        _filled(con)
        con.execute("BEGIN")
        con.execute("INSERT INTO t VALUES (100)")
        relay.word = b"INSERT INTO"
        relay.passes_word = passes != "nothing"
        relay.loses_answer = passes.endswith("answer")
        with pytest.raises(gateway.OperationalError) as raised:
            con.execute("COMMIT")
        assert raised.value.code == "PAL-522"
        assert con.execute("SELECT count(*) FROM t").fetchall() == [(16,)]
        con.execute("INSERT INTO t VALUES (100)")
        assert con.execute("SELECT count(*) FROM t").fetchall() == [(17,)]


@pytest.mark.timeout(60)
def test_a_server_that_answers_no_good_bye_is_left(
    server: ThriftServer, relay: Relay, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hive, "_CLOSE_S", 0.5)
    con = gateway.connect(_far(server, relay, url), autocommit=True)
    _filled(con)
    relay.hushes = b"CloseSession"
    con.close()


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A PostgreSQL server for catalogs."""
    with running() as found:
        yield found


@pytest.fixture
def through_relay(
    cluster: Cluster, server: ThriftServer
) -> Iterator[tuple[Callable[[], Connection], Relay]]:
    """Opens connections to a store whose catalog is reached through a relay."""
    relay = Relay(cluster.port)
    name = cluster.database()
    catalog = f"postgresql%2Bpsycopg://tester@127.0.0.1:{relay.port}/{name}"
    opened: list[Connection] = []

    def connect() -> Connection:
        url = server.url("p_", catalog, views="off")
        opened.append(gateway.connect(url, autocommit=True))
        return opened[-1]

    yield connect, relay
    for connection in opened:
        connection.close()
    relay.close()


@pytest.mark.parametrize("arrives", [True, False])
def test_the_catalog_lost_during_commit_is_asked_what_became_of_it(
    through_relay: tuple[Callable[[], Connection], Relay], *, arrives: bool
) -> None:
    connect, relay = through_relay
    con = connect()
    con.execute("CREATE TABLE one (k INTEGER)")
    con.execute("BEGIN")
    con.execute("CREATE TABLE two (k INTEGER)")
    # Earlier words of the kind belong to leases: the commit comes after what it writes.
    relay.word = b"palimpsest_transactions"
    relay.then = b"COMMIT"
    relay.passes_word = arrives
    if arrives:
        con.execute("COMMIT")
    else:
        with pytest.raises(gateway.OperationalError) as raised:
            con.execute("COMMIT")
        assert raised.value.code in {"PAL-522", "PAL-520"}
    tables = con.execute("SELECT name FROM system.tables ORDER BY 1").fetchall()
    assert tables == ([("one",), ("two",)] if arrives else [("one",)])
