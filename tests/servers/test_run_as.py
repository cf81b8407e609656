"""A proxy logs in for its users, over each port: with their rights, and both names on record."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pyarrow import flight
from pyhive import exc

import gateway
from gateway.config import Settings
from gateway.dbapi.connection import Connection
from gateway.opening.warehouses import WAREHOUSES
from gateway.servers.client_sessions import session_of_client
from gateway.servers.flight.wire import flight_sql_pb2 as wire
from journal.model.system_user import system_user
from tests.servers.test_flight import asking
from tests.servers.test_hive_logins import Ports, over_binary, over_http
from tests.support.certificates import make_certificates
from tests.support.warm_python import warm_python

PROXY, PASSWORD = "superset", "one"
RECORDED = f"ann (by {PROXY})"


@dataclass(frozen=True, slots=True)
class Running:
    """A server with all ports: what psycopg takes, Flight's URL, Hive's ports, the authority."""

    dsn: str
    flight: str
    hive: Ports


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("proxies")
    make_certificates(folder, {"server": "localhost"})
    with gateway.connect(f"palimpsest:///{folder}/w", autocommit=True) as con:
        for sql in (
            "CREATE TABLE t (k INTEGER PRIMARY KEY, owner VARCHAR)",
            "INSERT INTO t VALUES (1, 'ann'), (2, 'bob')",
            "CREATE USER ann; CREATE USER bob; CREATE USER eve; CREATE ROLE locked",
            "CREATE USER boss SUPERUSER",
            f"CREATE USER {PROXY} PASSWORD '{PASSWORD}' NOINHERIT",
            f"GRANT ann, bob, locked, boss TO {PROXY}",
            "GRANT SELECT, INSERT ON t TO ann, bob, eve",
            "ALTER TABLE t SET ROW POLICY (owner = CURRENT_USER)",
        ):
            con.execute(sql)
    command = [warm_python(), "-m", "gateway.cli", "serve", str(folder / "w"), "--drain", "1"]
    places = [
        f
        for name in ("postgres", "hive", "hive-http", "flight")
        for f in (f"--{name}", "localhost:0")
    ]
    server = subprocess.Popen(
        [*command, *places, "--tls-cert", str(folder / "server.pem"),
         "--tls-key", str(folder / "server.key")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert server.stdout is not None
    found: dict[str, str] = {}
    while len(found) < 4:
        line = server.stdout.readline().strip()
        assert line, server.communicate()[1]
        kind = line.partition("://")[0] + ("-http" if "transportMode" in line else "")
        found[kind] = line
    pg = found["postgresql"].rpartition(":")[2].partition("/")[0]
    hives = [found[f"jdbc:hive2{kind}"].split("/")[2].rpartition(":")[2] for kind in ("", "-http")]
    yield Running(
        f"host=localhost port={pg} user={PROXY} password={PASSWORD} dbname=palimpsest",
        found["grpc+tls"],
        Ports(int(hives[0]), int(hives[1]), folder / "ca.pem"),
    )
    server.terminate()
    server.communicate(timeout=60)


def owner(running: Running) -> Connection:
    folder = running.hive.authority.parent / "w"
    return gateway.connect(f"palimpsest:///{folder}", autocommit=True)


Ask = Callable[[str], list[Any]]


@contextmanager
def by_postgres(running: Running, user: str) -> Iterator[Ask]:
    with psycopg.connect(running.dsn, options=f"-c run_as={user}", autocommit=True) as connection:

        def ask(sql: str) -> list[Any]:
            cursor = connection.execute(sql)
            return [] if cursor.description is None else cursor.fetchall()

        yield ask


@contextmanager
def by_network(running: Running, user: str) -> Iterator[Ask]:
    port = running.dsn.split()[1].partition("=")[2]
    url = f"palimpsest://{PROXY}:{PASSWORD}@localhost:{port}/?options=-c%20run_as%3D{user}"
    with gateway.connect(url, autocommit=True) as connection:
        yield asking_cursor(connection.cursor())


@contextmanager
def by_hive(running: Running, user: str) -> Iterator[Ask]:
    given = {"hive.server2.proxy.user": user}
    with over_binary(running.hive, PROXY, PASSWORD, given) as connection:
        yield asking_cursor(connection.cursor())


@contextmanager
def by_hive_http(running: Running, user: str) -> Iterator[Ask]:
    with over_http(running.hive, PROXY, PASSWORD, f"?doAs={user}") as connection:
        yield asking_cursor(connection.cursor())


@contextmanager
def by_flight(running: Running, user: str) -> Iterator[Ask]:
    client, options = logged_in(running, user)

    def ask(sql: str) -> list[Any]:
        info = client.get_flight_info(asking(wire.CommandStatementQuery(query=sql)), options)
        table = client.do_get(info.endpoints[0].ticket, options).read_all()
        return [tuple(row.values()) for row in table.to_pylist()]

    with client:
        yield ask


def asking_cursor(cursor: Any) -> Ask:
    def ask(sql: str) -> list[Any]:
        cursor.execute(sql)
        return [] if cursor.description is None else list(cursor.fetchall())

    return ask


def logged_in(running: Running, user: str) -> tuple[flight.FlightClient, flight.FlightCallOptions]:
    authority = running.hive.authority.read_bytes()
    client = flight.FlightClient(running.flight, tls_root_certs=authority)
    named = flight.FlightCallOptions(headers=[(b"run-as", user.encode())])
    token = client.authenticate_basic_token(PROXY, PASSWORD, named)
    return client, flight.FlightCallOptions(headers=[token])


WAYS = [by_postgres, by_network, by_hive, by_hive_http, by_flight]
REFUSED = (psycopg.Error, gateway.Error, exc.Error, flight.FlightError)


@pytest.mark.parametrize("way", WAYS)
def test_a_user_of_a_proxy_has_their_own_rights_alone(running: Running, way: Any) -> None:
    mine = "SELECT k, owner FROM t WHERE k < 10"
    with way(running, "ann") as ask, way(running, "bob") as ask_too:
        assert ask(mine) == [(1, "ann")]
        assert ask_too(mine) == [(2, "bob")]
        for sql in ("SET ROLE bob", f"SET ROLE {PROXY}", "SET run_as = 'bob'", "DROP TABLE t"):
            with pytest.raises(REFUSED):
                ask(sql)
        assert ask(mine) == [(1, "ann")]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("user", ["eve", "boss", "locked", "nobody"])
def test_a_proxy_runs_as_nobody_else(running: Running, way: Any, user: str) -> None:
    with pytest.raises(REFUSED, match="permission denied to run as"), way(running, user) as ask:
        ask("SELECT 1")


@pytest.mark.long
def test_refusals_stand_in_the_login_log(running: Running) -> None:
    for way in WAYS:
        with pytest.raises(REFUSED), way(running, "eve") as ask:
            ask("SELECT 1")
    wanted = {("postgresql", PROXY), ("hive", PROXY), ("flight", PROXY)}
    found: set[tuple[str, str]] = set()
    deadline = time.monotonic() + 60
    with owner(running) as con:
        while found != wanted and time.monotonic() < deadline:
            time.sleep(0.5)
            rows = con.execute(
                'SELECT l.front_end, l."user", l.address FROM system.logins AS l'
                " WHERE l.outcome = 'refused' AND l.detail = 'run as'"
            ).fetchall()
            found = {(front_end, user) for front_end, user, _ in rows}
            assert {address for *_, address in rows} <= {"127.0.0.1", "::1"}
    assert found == wanted


def test_both_names_are_on_record(running: Running) -> None:
    for number, way in enumerate(WAYS, 10):
        with way(running, "ann") as ask:
            ask(f"INSERT INTO t VALUES ({number}, 'ann')")
    with owner(running) as con:
        recorded = con.execute('SELECT "user" FROM system.transactions WHERE rows_written = 1')
        assert recorded.fetchall() == [(RECORDED,)] * len(WAYS)


def test_a_session_of_flight_stays_with_its_user(running: Running) -> None:
    client, options = logged_in(running, "ann")
    other = flight.FlightCallOptions(headers=[*options.headers, (b"run-as", b"bob")])
    with client, pytest.raises(flight.FlightError, match="PAL-250"):
        client.get_flight_info(asking(wire.CommandStatementQuery(query="SELECT 1")), other)


def test_a_change_of_rights_names_both(running: Running) -> None:
    with owner(running) as con:
        con.execute("CREATE SCHEMA anns; ALTER SCHEMA anns OWNER TO ann")
    with by_network(running, "ann") as ask:
        ask("GRANT USAGE ON SCHEMA anns TO bob")
    folder = running.hive.authority.parent / "w"
    done = subprocess.run(
        [warm_python(), "-m", "gateway.cli", "audit", "list", "-w", str(folder)],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert RECORDED in done.stdout


def test_a_user_of_hive_is_named_as_the_session_begins(running: Running) -> None:
    with by_hive(running, "ann") as ask:
        with pytest.raises(exc.OperationalError, match="as a session begins"):
            ask("SET hive.server2.proxy.user=bob")


def test_no_role_has_a_name_that_looks_like_two(running: Running) -> None:
    with owner(running) as con, pytest.raises(gateway.Error) as caught:
        con.execute(f'CREATE ROLE "{RECORDED}"')
    assert caught.value.sqlstate == "42939"


def test_a_proxy_without_a_name_acts_as_whoever_runs_the_server(tmp_path: Path) -> None:
    opened = WAREHOUSES.acquire(f"palimpsest:///{tmp_path}/w")
    try:
        owner = opened.session(Settings(), dialect="duckdb", autocommit=True, user=None)
        owner.execute("CREATE USER ann").close()
        proxied = session_of_client(opened, "duckdb", None, None, {"run_as": "ann"}, None)
        assert proxied.recorded_user == f"ann (by {system_user()})"
        for session in (owner, proxied):
            session.close()
    finally:
        WAREHOUSES.release(opened)
