"""Who gets in over Flight: passwords under TLS, tokens, and what a role may do."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from pyarrow import flight

import gateway
from gateway.servers.flight.wire import flight_sql_pb2 as wire
from tests.servers.test_flight import asking, packed
from tests.support.certificates import make_certificates
from tests.support.warm_python import warm_python

adbc = pytest.importorskip("adbc_driver_flightsql.dbapi")
driver = pytest.importorskip("adbc_driver_manager")


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A server with roles and TLS: the URL of its Flight port, and the folder of certificates."""
    folder = tmp_path_factory.mktemp("flight-logins")
    make_certificates(folder, {"server": "localhost"})
    with gateway.connect(f"palimpsest:///{folder}/w", autocommit=True) as con:
        for sql in (
            "CREATE TABLE t (k INTEGER PRIMARY KEY, pay INTEGER)",
            "INSERT INTO t VALUES (1, 10)",
            "CREATE TABLE hidden (k INTEGER PRIMARY KEY REFERENCES t)",
            "CREATE USER ann PASSWORD 'one'",
            "CREATE USER few PASSWORD 'one' CONNECTION LIMIT 1",
            "CREATE USER old PASSWORD 'one' VALID UNTIL '2001-01-01'",
            "CREATE ROLE locked PASSWORD 'one'",
            "GRANT SELECT (k), INSERT ON t TO ann",
        ):
            con.execute(sql)
    command = [warm_python(), "-m", "gateway.cli", "serve", str(folder / "w"), "--drain", "1"]
    server = subprocess.Popen(
        [*command, "--postgres", "127.0.0.1:0", "--flight", "localhost:0", "--tls-cert",
         str(folder / "server.pem"), "--tls-key", str(folder / "server.key")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert server.stdout is not None
    lines = iter(server.stdout.readline, "")
    url = next((line.strip() for line in lines if line.startswith("grpc+tls:")), "")
    assert url, server.communicate()[1]
    yield url, folder
    server.terminate()
    server.communicate(timeout=60)


def connected(secured: tuple[str, Path], user: str, password: str) -> flight.FlightCallOptions:
    token = raw(secured).authenticate_basic_token(user, password)
    return flight.FlightCallOptions(headers=[token])


def raw(secured: tuple[str, Path]) -> flight.FlightClient:
    url, folder = secured
    return flight.FlightClient(url, tls_root_certs=(folder / "ca.pem").read_bytes())


def test_a_role_logs_in_and_does_what_it_may(secured: tuple[str, Path]) -> None:
    url, folder = secured
    options = {
        "username": "ann",
        "password": "one",
        "adbc.flight.sql.client_option.tls_root_certs": (folder / "ca.pem").read_text(),
    }
    with adbc.connect(url, options, autocommit=True) as con, con.cursor() as cursor:
        cursor.execute("SELECT k FROM t")
        assert cursor.fetchall() == [(1,)]
        with pytest.raises(driver.ProgrammingError, match="SQLSTATE 42501"):
            cursor.execute("SELECT pay FROM t")
        with pytest.raises(driver.Error, match="SQLSTATE 42P01"):
            cursor.execute("SELECT * FROM hidden")
        (catalog,) = con.adbc_get_objects(depth="tables").read_all().to_pylist()
        names = [
            t["table_name"] for s in catalog["catalog_db_schemas"] for t in s["db_schema_tables"]
        ]
        assert names == ["t"]
        cursor.execute("SELECT session_user")
        assert cursor.fetchone() == ("ann",)
    client, ann = raw(secured), connected(secured, "ann", "one")
    keys = packed(wire.CommandGetExportedKeys(table="t"))
    assert client.do_get(flight.Ticket(keys), ann).read_all().num_rows == 0


@pytest.mark.parametrize(
    ("user", "password"),
    [("ann", "two"), ("ann", ""), ("nobody", "one"), ("old", "one"), ("locked", "one")],
)
def test_whoever_does_not_show_who_they_are_stays_out(
    secured: tuple[str, Path], user: str, password: str
) -> None:
    with pytest.raises(flight.FlightUnauthenticatedError, match=r"PAL-6(09|11)"):
        connected(secured, user, password)


def test_without_a_login_nothing_is_answered(secured: tuple[str, Path]) -> None:
    client = raw(secured)
    command = asking(wire.CommandGetCatalogs())
    for headers in ([], [(b"authorization", b"Bearer x")], [(b"authorization", b"Basic ???")]):
        options = flight.FlightCallOptions(headers=headers)
        with pytest.raises(flight.FlightUnauthenticatedError, match="PAL-609"):
            client.get_flight_info(command, options)
        with pytest.raises(flight.FlightUnauthenticatedError, match="PAL-609"):
            list(client.do_action(flight.Action("CloseSession", b""), options))


def test_a_role_has_so_many_sessions(secured: tuple[str, Path]) -> None:
    first = connected(secured, "few", "one")
    with pytest.raises(flight.FlightError, match="has 1 connections"):
        connected(secured, "few", "one")
    list(raw(secured).do_action(flight.Action("CloseSession", b""), first))
    with pytest.raises(flight.FlightUnauthenticatedError, match="PAL-609"):
        raw(secured).get_flight_info(asking(wire.CommandGetCatalogs()), first)
    connected(secured, "few", "one")


def test_a_name_of_several_addresses_is_one_place(secured: tuple[str, Path]) -> None:
    port = urlsplit(secured[0]).port
    assert port
    socket.create_connection(("127.0.0.1", port), timeout=10).close()
    # Another program may have the same number there, and get the calls.
    with pytest.raises(OSError, match=r"refused|assign|unavailable|unreachable"):
        socket.create_connection(("::1", port), timeout=10)
