"""Events of OpenLineage of executed statements: what is sent, that nobody waits for it, drops."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.lineage.statement_end import StatementEnd
from gateway.openlineage.events import event_json
from gateway.openlineage.sender import EventSender
from gateway.openlineage.transports import transport_config, transport_of
from journal.model.errors import Code, PalimpsestError
from tests.support.openlineage import require_valid


class Recorder:
    """A transport that keeps events, and refuses the first ``refusals`` of them."""

    def __init__(self, refusals: int = 0) -> None:
        self.events: list[dict[str, Any]] = []
        self.refusals = refusals
        self.gate = threading.Event()
        self.gate.set()

    def emit(self, event: Any) -> None:
        """Keep one event."""
        self.gate.wait(30)
        if self.refusals:
            self.refusals -= 1
            raise ConnectionError("nobody listens")
        self.events.append(json.loads(event_json(event)))

    def close(self, timeout: float = -1) -> bool:
        """Nothing is held back."""
        return timeout != 0


@contextmanager
def listening(con: Connection, transport: Any, **options: Any) -> Iterator[EventSender]:
    sender = EventSender(transport, "test", **options)
    ledger = con.session.executor.lineage
    ledger.listener = sender.offer
    try:
        yield sender
    finally:
        ledger.listener = None
        if isinstance(transport, Recorder):
            transport.gate.set()
        sender.close()


@pytest.fixture
def con(tmp_path: Path) -> Iterator[Connection]:
    with gateway.connect(f"palimpsest:///{tmp_path / 'w'}", autocommit=True) as con:
        con.execute("CREATE TABLE s (k INTEGER PRIMARY KEY, mail VARCHAR)")
        con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, mail VARCHAR NOT NULL)")
        con.execute("INSERT INTO s VALUES (1, 'ada@example.org'), (2, NULL)")
        yield con


def test_committed_statements_are_started_and_complete(con: Connection) -> None:
    recorder = Recorder()
    with listening(con, recorder):
        for _ in range(2):
            con.execute("INSERT INTO t SELECT k, mail FROM s WHERE k = 1 AND mail <> 'x@y.z'")
            con.execute("DELETE FROM t WHERE k IN (SELECT k FROM s)")
        con.execute("INSERT INTO t VALUES (7, 'no lineage')")
        con.execute("SELECT * FROM t").fetchall()
    for event in recorder.events:
        require_valid(event)
    states = [(e["eventType"], e["job"]["name"].split()[0]) for e in recorder.events]
    one = [("START", "INSERT"), ("COMPLETE", "INSERT"), ("START", "DELETE"), ("COMPLETE", "DELETE")]
    assert states == one * 2
    start, complete = recorder.events[:2]
    assert start["run"]["runId"] == complete["run"]["runId"]
    assert start["eventTime"] <= complete["eventTime"]
    assert "ada@" not in json.dumps(recorder.events)
    assert "x@y.z" not in json.dumps(recorder.events)
    (output,) = complete["outputs"]
    assert output["name"] == "main.t"
    (field,) = output["facets"]["columnLineage"]["fields"]["mail"]["inputFields"]
    assert (field["name"], field["field"]) == ("main.s", "mail")
    versions = {v for (v,) in con.execute("SELECT version FROM system.transactions").fetchall()}
    assert int(output["facets"]["version"]["datasetVersion"]) in versions
    assert complete["run"]["facets"]["nominalTime"]["nominalStartTime"] == start["eventTime"]


def test_what_rolls_back_is_not_told_and_what_fails_is(con: Connection) -> None:
    recorder = Recorder()
    con.execute("INSERT INTO t VALUES (1, 'x')")
    with listening(con, recorder):
        con.execute("BEGIN")
        con.execute("INSERT INTO t SELECT k + 10, mail FROM s WHERE k = 1")
        con.execute("ROLLBACK")
        for bad in (
            "INSERT INTO t SELECT k, mail FROM s WHERE k = 2",
            "INSERT INTO t SELECT k, mail FROM s WHERE k = 1",
        ):
            with pytest.raises(gateway.IntegrityError):
                con.execute(bad)
    for event in recorder.events:
        require_valid(event)
    assert [e["eventType"] for e in recorder.events] == ["START", "FAIL"] * 2
    messages = [e["run"]["facets"]["errorMessage"]["message"] for e in recorder.events[1::2]]
    assert ["(23502)" in messages[0], "(23505)" in messages[1]] == [True, True]
    assert "ada@" not in json.dumps(recorder.events)


def test_a_slow_transport_makes_nobody_wait_and_drops_are_counted(con: Connection) -> None:
    recorder = Recorder()
    recorder.gate.clear()
    with listening(con, recorder, queue_max=3) as sender:
        for k in range(20):
            con.execute("INSERT INTO t SELECT k + ?, 'm' FROM s WHERE k = 1", [k])
        assert con.execute("SELECT count(*) FROM t").fetchall() == [(20,)]
        assert sender.dropped >= 15
    assert sender.sent + sender.dropped == 20
    assert len(recorder.events) == 2 * sender.sent


def test_events_are_tried_again_and_then_dropped(con: Connection) -> None:
    pauses: list[float] = []

    def pause(seconds: float) -> bool:
        pauses.append(seconds)
        return False

    recorder = Recorder(refusals=2)
    with listening(con, recorder, pause=pause) as sender:
        con.execute("INSERT INTO t SELECT k, 'm' FROM s")
    assert (sender.sent, sender.dropped, len(pauses)) == (1, 0, 2)
    assert [e["eventType"] for e in recorder.events] == ["START", "COMPLETE"]
    recorder = Recorder(refusals=100)
    with listening(con, recorder, pause=pause) as sender:
        con.execute("DELETE FROM t WHERE k IN (SELECT k FROM s)")
    assert (sender.sent, sender.dropped) == (0, 1)
    assert con.execute("SELECT count(*) FROM t").fetchall() == [(0,)]


def test_events_go_to_a_file(con: Connection, tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    sender = EventSender(transport_of(file.as_uri()), "test")
    ledger = con.session.executor.lineage
    told: list[StatementEnd] = []
    ledger.listener = told.append
    con.execute("CREATE TABLE c AS SELECT mail FROM s")
    ledger.listener = None
    for end in told:
        sender.offer(end)
    sender.close()
    events = [json.loads(line) for line in file.read_text().splitlines()]
    assert [e["eventType"] for e in events] == ["START", "COMPLETE"]
    assert [o["name"] for o in events[1]["outputs"]] == ["main.c"]


def test_events_go_over_http(con: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENLINEAGE_API_KEY", "k3y")
    with _catalog_of_lineage() as (url, posted):
        _run_with_sender(con, url)
    assert [path for path, _, _ in posted] == ["/api/v1/lineage"] * 2
    assert {key for _, key, _ in posted} == {"Bearer k3y"}
    events = [event for _, _, event in posted]
    for event in events:
        require_valid(event)
    assert [event["eventType"] for event in events] == ["START", "COMPLETE"]
    columns = events[1]["outputs"][0]["facets"]["columnLineage"]["fields"]
    assert [f["field"] for f in columns["mail"]["inputFields"]] == ["mail"]


def test_events_go_to_a_topic_of_kafka(con: Connection) -> None:
    kafka = pytest.importorskip("confluent_kafka")
    # librdkafka has a broker of its own for tests, which listens on a port.
    host = kafka.Producer({"test.mock.num.brokers": 1, "bootstrap.servers": ""})
    broker = next(iter(host.list_topics(timeout=10).brokers.values()))
    address = f"{broker.host}:{broker.port}"
    _run_with_sender(con, f"kafka://{address}/lineage")
    reader = kafka.Consumer(
        {"bootstrap.servers": address, "group.id": "t", "auto.offset.reset": "earliest"}
    )
    reader.subscribe(["lineage"])
    found = [json.loads(m.value()) for m in reader.consume(2, timeout=30) if m.error() is None]
    reader.close()
    assert [event["eventType"] for event in found] == ["START", "COMPLETE"]
    assert [o["name"] for o in found[1]["outputs"]] == ["main.c"]


def _run_with_sender(con: Connection, url: str) -> None:
    """Run one statement that writes, and wait until its events are sent."""
    with listening(con, transport_of(url)) as sender:
        con.execute("CREATE TABLE c AS SELECT mail FROM s")
    assert (sender.sent, sender.dropped) == (1, 0)


Posted = list[tuple[str, str | None, dict[str, Any]]]
"""Paths, keys and events."""


@contextmanager
def _catalog_of_lineage() -> Iterator[tuple[str, Posted]]:
    """An HTTP server that takes events, and what it has taken."""
    posted: Posted = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            posted.append((self.path, self.headers.get("Authorization"), json.loads(body)))
            self.send_response(201)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", posted
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_urls_name_transports() -> None:
    http = transport_config("https://lineage.example.org:5000", "k")
    assert http["auth"] == {"type": "api_key", "apiKey": "k"}
    assert (http["url"], http["endpoint"]) == ("https://lineage.example.org:5000", "api/v1/lineage")
    kafka = transport_config("kafka://a:9092,b:9092/lineage")
    assert (kafka["config"], kafka["topic"]) == ({"bootstrap.servers": "a:9092,b:9092"}, "lineage")
    for url in ("ftp://x/y", "kafka://a:9092", "events.json", "file://"):
        with pytest.raises(PalimpsestError) as failed:
            transport_config(url)
        assert failed.value.code is Code.SETTING_VALUE


_CHANGES = {
    "CREATE TABLE c AS SELECT * FROM s": ("main.c", "CREATE", None),
    "ALTER TABLE c ADD COLUMN z INTEGER": ("main.c", "ALTER", None),
    "INSERT OVERWRITE c SELECT k, mail, 1 FROM s": ("main.c", "OVERWRITE", None),
    "ALTER TABLE c RENAME TO d": ("main.d", "RENAME", "main.c"),
    "CREATE VIEW v AS SELECT k FROM d": ("main.v", "CREATE", None),
    "TRUNCATE d": ("main.d", "TRUNCATE", None),
    "DROP VIEW v": ("main.v", "DROP", None),
    "DROP TABLE d": ("main.d", "DROP", None),
}


def test_events_tell_what_became_of_whole_tables(con: Connection) -> None:
    recorder = Recorder()
    with listening(con, recorder):
        for sql in _CHANGES:
            con.execute(sql)
        con.execute("CREATE TEMP TABLE own AS SELECT 1 AS a")
        con.execute("DROP TABLE own")
    told = []
    for event in recorder.events:
        require_valid(event)
        for output in event["outputs"] if event["eventType"] == "COMPLETE" else ():
            change = output["facets"].get("lifecycleStateChange", {})
            before = (change.get("previousIdentifier") or {}).get("name")
            told.append((output["name"], change.get("lifecycleStateChange"), before))
    assert told == list(_CHANGES.values())
