"""Who gets in by HiveServer2's protocol: passwords under TLS, over its own port and over HTTP."""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyhive import exc, hive
from thrift.transport.THttpClient import THttpClient
from thrift.transport.TSSLSocket import TSSLSocket
from thrift.transport.TTransport import TTransportException
from thrift_sasl import TSaslClientTransport

from gateway.access.logins import Logins
from gateway.config import Settings
from gateway.opening.warehouses import WAREHOUSES
from gateway.servers.addresses import Address, tcp_listener
from gateway.servers.ending import Ending
from gateway.servers.hive.http_server import KIND, HiveHttpServer
from gateway.servers.hive.server import HiveServer
from gateway.servers.limits import ServerLimits
from gateway.servers.pgwire.admission import Admission
from gateway.servers.tls import ServerTls, TlsFiles
from gateway.session.session import Session
from journal.model.access import Role
from tests.support.certificates import make_certificates

PASSWORD = "a long sentence"


@dataclass(frozen=True, slots=True)
class Ports:
    """Where the servers listen, and who signed their certificate."""

    binary: int
    http: int
    authority: Path


@pytest.fixture(scope="module")
def ports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ports]:
    folder = tmp_path_factory.mktemp("hive")
    make_certificates(folder, {"server": "localhost"})
    opened = WAREHOUSES.acquire(f"palimpsest:///{folder}/w")
    owner = opened.session(Settings(), dialect="duckdb", autocommit=True, user=None)
    for text in (
        "CREATE TABLE t (k INTEGER PRIMARY KEY, pay INTEGER)",
        "CREATE TABLE hidden (k INTEGER)",
        f"CREATE USER ann PASSWORD '{PASSWORD}' CONNECTION LIMIT 2",
        f"CREATE USER bob PASSWORD '{PASSWORD}'",
        "GRANT SELECT, INSERT ON t TO ann",
    ):
        owner.execute(text).close()
    owner.close()

    def session(
        user: str | None, application: str | None, given: Mapping[str, str], role: Role | None
    ) -> Session:
        del application, given
        assert role is not None
        made = opened.session(Settings(), dialect="hive", autocommit=True, user=user)
        made.settings = replace(made.settings, role=role.id, login_role=role.id)
        return made

    files = TlsFiles(folder / "server.pem", folder / "server.key")
    logins = Logins(lambda: opened.journal.state.catalog, b"secret", lambda: datetime.now(UTC))
    admission = Admission(logins=logins, tls=ServerTls(files, ()))
    binary, web = (tcp_listener(Address("127.0.0.1", 0)) for _ in range(2))
    limits, ending = ServerLimits(login_s=5.0), Ending(1.0)
    server = HiveServer(session, limits, admission, ending)
    server.listen(binary)
    over_http = HiveHttpServer(web, session, limits, admission, ending)
    yield Ports(binary.getsockname()[1], web.getsockname()[1], folder / "ca.pem")
    server.close()
    over_http.close()
    WAREHOUSES.release(opened)


def over_binary(ports: Ports, user: str, password: str, given: dict[str, str] | None = None) -> Any:
    """A connection of PyHive over TLS, with settings."""
    context = ssl.create_default_context(cafile=str(ports.authority))
    socket = TSSLSocket("localhost", ports.binary, ssl_context=context)
    sasl = hive.get_installed_sasl("localhost", "PLAIN", username=user, password=password)
    transport = TSaslClientTransport(lambda: sasl, "PLAIN", socket)
    return hive.connect(thrift_transport=transport, configuration=given)


def over_http(ports: Ports, user: str, password: str, query: str = "") -> Any:
    """A connection of PyHive over HTTPS, to a path with a query."""
    context = ssl.create_default_context(cafile=str(ports.authority))
    url = f"https://localhost:{ports.http}/cliservice{query}"
    transport = THttpClient(url, ssl_context=context)
    hive.Connection._set_authorization_header(transport, user, password)
    return hive.connect(thrift_transport=transport)


@pytest.mark.parametrize("connect", [over_binary, over_http])
def test_a_login_has_the_privileges_of_its_role(ports: Ports, connect: Any) -> None:
    with connect(ports, "ann", PASSWORD) as connection:
        cursor = connection.cursor()
        cursor.execute("INSERT INTO t SELECT count(*), 10 FROM t")
        cursor.execute("SELECT max(pay) FROM t")
        assert cursor.fetchall() == [(10,)]
        cursor.execute("SHOW TABLES")
        assert cursor.fetchall() == [("t",)]
        for text, state in (("SELECT * FROM hidden", "42S02"), ("DROP TABLE t", "42501")):
            with pytest.raises(exc.OperationalError) as caught:
                cursor.execute(text)
            assert caught.value.args[0].status.sqlState == state


@pytest.mark.parametrize("connect", [over_binary, over_http])
@pytest.mark.parametrize("user", ["bob", "nobody"])
def test_a_wrong_password_lets_nobody_in(ports: Ports, connect: Any, user: str) -> None:
    with pytest.raises((TTransportException, EOFError)) as caught:
        connect(ports, user, "wrong")
    if connect is over_binary:
        assert "PAL-611" in str(caught.value)


def test_passwords_are_not_taken_without_tls(ports: Ports) -> None:
    with pytest.raises(TTransportException, match="PAL-609"):
        hive.connect("127.0.0.1", ports.binary, "ann", auth="LDAP", password=PASSWORD)
    with pytest.raises(exc.OperationalError, match="PAL-609"):
        hive.connect("127.0.0.1", ports.binary, username="ann", auth="NOSASL")


def test_a_role_has_as_many_connections_as_it_may(ports: Ports) -> None:
    with over_binary(ports, "ann", PASSWORD), over_binary(ports, "ann", PASSWORD):
        with pytest.raises(TTransportException, match="PAL-608"):
            over_binary(ports, "ann", PASSWORD)


@pytest.mark.parametrize(
    ("status", "path", "changed"),
    [
        (401, "/cliservice", {}),
        (401, "/cliservice", {"Authorization": "Basic !!"}),
        (401, "/cliservice", {"Cookie": "hive.server2.auth=guess"}),
        (403, "/cliservice", {"Host": "evil.example:1"}),
        (404, "/", {}),
        (415, "/cliservice", {"Content-Type": "text/plain"}),
        (413, "/cliservice", {"Content-Length": "99999999999"}),
        (411, "/cliservice", {"Content-Length": "x"}),
    ],
)
def test_what_is_no_call_is_refused(
    ports: Ports, status: int, path: str, changed: dict[str, str]
) -> None:
    context = ssl.create_default_context(cafile=str(ports.authority))
    peer = http.client.HTTPSConnection("localhost", ports.http, context=context, timeout=10)
    # Where no length is known the body stays out, which nobody would read.
    body = b"" if "Content-Length" in changed else b"x"
    peer.request("POST", path, body, {"Content-Type": KIND, "Content-Length": "1", **changed})
    assert peer.getresponse().status == status
    peer.close()


def test_another_login_does_not_see_a_session(ports: Ports) -> None:
    with over_http(ports, "ann", PASSWORD) as ann, over_http(ports, "bob", PASSWORD) as bob:
        bob._sessionHandle, own = ann._sessionHandle, bob._sessionHandle
        with pytest.raises(exc.OperationalError, match="no such session"):
            bob.cursor().execute("SELECT 1")
        bob._sessionHandle = own


def test_a_newcomer_does_not_cut_off_a_call_that_is_answered(tmp_path: Path) -> None:
    """Where all places are taken by calls, it is the newcomer that is closed."""
    opened = WAREHOUSES.acquire(f"palimpsest:///{tmp_path}/w")
    begun, goes_on = threading.Event(), threading.Event()

    def session(user: str | None, *_: Any) -> Session:
        begun.set()
        assert goes_on.wait(30)
        return opened.session(Settings(), dialect="hive", autocommit=True, user=user)

    listener = tcp_listener(Address("127.0.0.1", 0))
    limits, ending = ServerLimits(connections=1), Ending(1.0)
    server = HiveHttpServer(listener, session, limits, Admission(trusts=True), ending)
    port = listener.getsockname()[1]
    found: list[Any] = []

    def ask() -> None:
        transport = THttpClient(f"http://127.0.0.1:{port}/cliservice")
        hive.Connection._set_authorization_header(transport, "ann", "")
        try:
            with hive.connect(thrift_transport=transport) as connection:
                cursor = connection.cursor()
                cursor.execute("SELECT 42")
                found.extend(cursor.fetchall())
        except (OSError, TTransportException, http.client.HTTPException) as error:
            found.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        assert begun.wait(30)
        with socket.create_connection(("127.0.0.1", port), timeout=10) as newcomer:
            assert newcomer.recv(1) == b""
    finally:
        goes_on.set()
        thread.join()
        server.close()
        WAREHOUSES.release(opened)
    assert found == [(42,)]
