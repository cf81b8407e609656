"""The HTTP port, the log and ``palimpsest top``, of a server in a process of its own."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import threading
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.error import HTTPError

import psycopg
import pytest

from gateway.servers.http.answers import OperatorPages
from gateway.servers.http.readiness import Readiness
from journal.model.errors import Code, PalimpsestError
from tests.servers.conftest import Server, launch
from tests.support.warm_python import warm_python

TOKEN = "a token of the test"


@dataclass(frozen=True, slots=True)
class Watched:
    """A server with an HTTP port: itself, and the URL of that."""

    server: Server
    url: str


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """A server that logs slow statements as JSON."""
    options = ("--http", "127.0.0.1:0", "--http-name", "palimpsest.example", "--log-format", "json")
    server = launch(tmp_path_factory.mktemp("watched"), *options, "--slow-statement", "0")
    assert server.process.stdout is not None
    line = server.process.stdout.readline()
    assert line.startswith("http://127.0.0.1:")
    found = Watched(server, line.strip())
    yield found
    server.end()


def get(url: str, **headers: str) -> tuple[int, str]:
    """Status and body of an answer."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(url, headers=named)  # noqa: S310 - of this machine
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310
            return answer.status, answer.read().decode()
    except HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_probes_say_that_it_runs(watched: Watched) -> None:
    assert get(f"{watched.url}healthz") == (200, "ok\n")
    assert get(f"{watched.url}readyz") == (200, "ok\n")
    assert get(watched.url)[0] == 404
    assert get(f"{watched.url}healthz", Host="palimpsest.example:80")[0] == 200
    assert get(f"{watched.url}healthz", Host="other.example")[0] == 403
    assert get(f"{watched.url}healthz", Origin="http://other.example")[0] == 403


def test_metrics_count_what_ran_without_its_values(watched: Watched) -> None:
    pytest.importorskip("prometheus_client")
    with psycopg.connect(watched.server.dsn, autocommit=True) as connection:
        connection.execute("CREATE TABLE m (secret TEXT)")
        connection.execute("INSERT INTO m VALUES ('hidden'), ('hidden')")
        with pytest.raises(psycopg.Error):
            connection.execute("SELECT 'hidden' FROM nowhere")
        connection.execute("SELECT * FROM m")
        connection.execute("CALL system.safe_mode(on => true)")
        connection.execute("CALL system.safe_mode(on => false)")
        status, body = get(f"{watched.url}metrics")
    assert status == 200
    for line in (
        'palimpsest_statements_total{kind="INSERT",state="finished"} 1.0',
        'palimpsest_statement_seconds_count{kind="INSERT"} 1.0',
        'palimpsest_errors_total{code="PAL-201"} 1.0',
        'palimpsest_sessions{state="idle"} 1.0',
        "palimpsest_connections 1.0",
        'palimpsest_events_total{name="safe_mode.on",status="SUCCEEDED"} 1.0',
    ):
        assert f"{line}\n" in body
    assert re.search(r"^palimpsest_rows_sent_total [1-9]", body, re.MULTILINE)
    assert "hidden" not in body
    assert "secret" not in body


def test_clients_that_say_nothing_hold_up_nobody(watched: Watched) -> None:
    port = int(watched.url.rstrip("/").rpartition(":")[2])
    silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(8)]
    try:
        assert get(f"{watched.url}healthz")[0] == 200
    finally:
        for peer in silent:
            peer.close()


def test_slow_statements_are_logged_without_values(tmp_path: Path) -> None:
    options = ("--log-format", "json", "--slow-statement", "0")
    server = launch(tmp_path, *options)
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute("SELECT 'hidden' AS a")
    text = server.end()
    lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    (line,) = [line for line in lines if line["logger"] == "palimpsest.slow"]
    assert (line["statement"], line["user"], line["state"]) == ("SELECT ? AS a", "me", "finished")
    assert re.fullmatch(r"127\.0\.0\.1:\d+", line["client"])
    assert "hidden" not in text


def test_top_shows_sessions_and_statements(watched: Watched) -> None:
    url = f"palimpsest://127.0.0.1:{watched.server.port}/"
    command = [warm_python(), "-m", "gateway.cli", "top", "--once", "--url", url]
    with psycopg.connect(watched.server.dsn, application_name="shown") as connection:
        connection.execute("SELECT 'hidden' AS a")
        shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        found = json.loads(subprocess.check_output([*command, "--json"], text=True))
    assert "2 sessions, 1 active" in shown
    assert "hidden" not in shown
    states = {row["application"]: row["state"] for row in found["sessions"]}
    assert states == {"palimpsest top": "active", "shown": "idle in transaction"}
    assert "SELECT ? AS a" in {row["statement"] for row in found["statements"]}


def pages(**changes: object) -> OperatorPages:
    """Pages of a server that is well."""
    given: dict[str, object] = {
        "not_ready": lambda: "",
        "names": frozenset({"db.example"}),
        "exposition": lambda _accept: (b"metrics", "text/plain"),
        "token": None,
        "is_loopback": True,
        **changes,
    }
    return OperatorPages(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "headers", "status"),
    [
        ({}, {}, 200),
        ({"exposition": None}, {}, 501),
        ({"is_loopback": False}, {}, 403),
        ({"token": TOKEN, "is_loopback": False}, {"authorization": f"Bearer {TOKEN}"}, 200),
        ({"token": TOKEN}, {"authorization": "Bearer another"}, 401),
        ({"token": TOKEN}, {}, 401),
    ],
)
def test_metrics_are_for_this_machine_or_for_a_token(
    changes: dict[str, object], headers: dict[str, str], status: int
) -> None:
    found = pages(**changes).answer("GET", "/metrics", {"host": "[::1]:8080", **headers})
    assert found.status == status


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 403),
        ({"host": ""}, 403),
        ({"host": "DB.example"}, 200),
        ({"host": "10.1.2.3:8080"}, 200),
        ({"host": "localhost"}, 200),
        ({"host": "localhost.evil.example"}, 403),
        ({"host": "127.0.0.1.evil.example"}, 403),
        ({"host": "localhost:80", "origin": "http://localhost:80"}, 200),
        ({"host": "localhost:80", "origin": "null"}, 403),
    ],
)
def test_other_hosts_and_origins_are_refused(headers: dict[str, str], status: int) -> None:
    assert pages().answer("GET", "/healthz", headers).status == status


def test_not_ready_says_why() -> None:
    def refuse() -> None:
        raise PalimpsestError(Code.STORE_UNREACHABLE, "nobody listens at secret.example")

    readiness = Readiness(refuse)
    host = {"host": "localhost"}
    found = pages(not_ready=readiness.reason_against).answer("GET", "/readyz", host)
    assert (found.status, found.body) == (503, b"the store cannot be read: PAL-520\n")
    nobody = Readiness(lambda: {}["a defect of ours"])
    assert nobody.reason_against() == "the store cannot be read: KeyError"
    hung = threading.Event()
    waiting = Readiness(lambda: hung.wait(30))
    assert waiting.reason_against() == "the store does not answer"
    hung.set()
    waiting.is_ending = True
    assert waiting.reason_against() == "the server is ending"
