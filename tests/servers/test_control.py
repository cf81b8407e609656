"""The control API: who gets in, what it answers, and what it takes twice without doing it twice."""

from __future__ import annotations

import base64
import json
import socket
import ssl
import subprocess
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from gateway.access.bearer import BearerTokens
from gateway.access.logins import Logins
from gateway.config import Settings
from gateway.opening.warehouses import WAREHOUSES
from gateway.servers.client_sessions import session_of_client
from gateway.servers.control.opening import ControlOptions, check_control, control_port
from gateway.servers.ending import Ending
from gateway.servers.limits import ServerLimits
from gateway.servers.pgwire.admission import Admission
from gateway.servers.tls import ServerTls, TlsFiles
from journal.model.errors import PalimpsestError
from tests.servers.conftest import launch
from tests.support.certificates import make_certificates
from tests.support.warm_python import warm_python

PASSWORD = "a long sentence"
DATASET = {"kind": "dataset", "name": "flights", "table": "t", "every": "1 day"}
DATASET |= {"start": "2013-01-01"}
PROCESS = {"kind": "process", "name": "daily", "every": "1 day", "start": "2013-01-02"}
PROCESS |= {"sql": "SELECT 1"}
USE = {"dataset": "flights", "from": "yesterday(0, 0)", "to": "yesterday(0, 0)"}


@dataclass(frozen=True, slots=True)
class Api:
    """A port, who signed its certificate, and who signs tokens."""

    url: str
    context: ssl.SSLContext | None
    key: ec.EllipticCurvePrivateKey

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        user: str | None = "ops",
        **headers: str,
    ) -> tuple[int, Any, Mapping[str, str]]:
        """Status, body and headers of an answer."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if user is not None and "Authorization" not in named:
            pair = base64.b64encode(f"{user}:{PASSWORD}".encode()).decode()
            named["Authorization"] = f"Basic {pair}"
        data = None
        if body is not None:
            data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
            named.setdefault("Content-Type", "application/json")
        request = urllib.request.Request(self.url + path, data, named, method=method)  # noqa: S310
        try:
            with urllib.request.urlopen(request, timeout=30, context=self.context) as answer:  # noqa: S310
                return answer.status, _body(answer.read()), dict(answer.headers)
        except HTTPError as error:
            with error:
                return error.code, _body(error.read()), dict(error.headers)


def _body(content: bytes) -> Any:
    return json.loads(content) if content else None


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    folder = tmp_path_factory.mktemp("control")
    make_certificates(folder, {"server": "localhost"})
    key = ec.generate_private_key(ec.SECP256R1())
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    (folder / "issuer.pem").write_bytes(public)
    opened = WAREHOUSES.acquire(f"palimpsest:///{folder}/w")
    owner = opened.session(Settings(), dialect="duckdb", autocommit=True, user=None)
    for text in (
        "CREATE TABLE t (a INTEGER)",
        "CREATE TABLE counted (a INTEGER)",
        "INSERT INTO counted VALUES (1), (2)",
        "CREATE TABLE summed AS SELECT sum(a) AS total FROM counted",
        f"CREATE USER ops PASSWORD '{PASSWORD}'",
        f"CREATE USER ann PASSWORD '{PASSWORD}'",
        f"CREATE USER carl PASSWORD '{PASSWORD}'",
        "CREATE USER bob",
        f"CREATE USER watcher PASSWORD '{PASSWORD}'",
        "GRANT ADMIN ON SYSTEM TO ops",
        "GRANT ADMIN ON SYSTEM TO bob",
        "GRANT MAINTAIN ON SYSTEM TO watcher",
        "GRANT watcher TO ann",
    ):
        owner.execute(text).close()
    owner.close()
    files = TlsFiles(folder / "server.pem", folder / "server.key")
    tokens = BearerTokens(str(folder / "issuer.pem"), "https://issuer", "palimpsest", "sub")
    catalog, now = (lambda: opened.journal.state.catalog), (lambda: datetime.now(UTC))
    logins = Logins(catalog, b"secret", now, [tokens])
    admission = Admission(logins=logins, tls=ServerTls(files, ()))
    options = ControlOptions("127.0.0.1:0", ("api.example",), trusts=False, tls_files=files)
    open_session = partial(session_of_client, opened, "duckdb")
    port = control_port(options, admission, open_session, ServerLimits(), Ending(1.0))
    with port as (url,):
        assert url.startswith("https://127.0.0.1:")
        context = ssl.create_default_context(cafile=str(folder / "ca.pem"))
        yield Api(url.replace("127.0.0.1", "localhost").removesuffix("/"), context, key)
    WAREHOUSES.release(opened)


@pytest.fixture(autouse=True)
def clean(api: Api) -> Iterator[None]:
    """Take away what a test has declared."""
    yield
    api.ask("PUT", "/safe-mode", {"is_on": False})
    for place in ("process/daily", "dataset/flights"):
        api.ask("DELETE", f"/entities/{place}")


def test_f57_who_gets_in(api: Api) -> None:
    for refused in (
        api.ask("GET", "/version", user=None),
        api.ask("GET", "/version", user="nobody"),
        api.ask("GET", "/version", Authorization="Basic b3BzOndyb25n"),
        api.ask("GET", "/version", Authorization="Bearer e30.e30.e30"),
        api.ask("POST", "/entities", "no JSON", user=None),
    ):
        assert refused[0] == 401
        assert refused[1]["code"] in {"PAL-609", "PAL-611"}
        assert refused[2]["content-type"] == "application/problem+json"
        assert refused[2]["www-authenticate"].startswith("Basic")
    status, found, headers = api.ask("GET", "/version", user="ann")
    assert (status, found["safe_mode"]["is_on"]) == (200, False)
    assert headers["cache-control"] == "private, no-cache"


def test_a_token_logs_in_whom_it_names(api: Api) -> None:
    def token(**more: object) -> str:
        said = {"sub": "bob", "iss": "https://issuer", "aud": "palimpsest"}
        until = datetime.now(UTC) + timedelta(minutes=5)
        return jwt.encode({**said, "exp": until, **more}, api.key, algorithm="ES256")

    taken = api.ask("GET", "/entities", Authorization=f"Bearer {token()}")
    assert taken[0] == 200
    for other in ({"aud": "another"}, {"sub": "ops"}, {"sub": "nobody"}, {"exp": 0}):
        refused = api.ask("GET", "/entities", Authorization=f"Bearer {token(**other)}")
        assert refused[0] == 401


def test_f57_a_program_asks_for_a_user_whose_member_it_is(api: Api) -> None:
    assert api.ask("GET", "/events", user="ann", Run_As="watcher")[0] == 200
    refused = api.ask("GET", "/events", user="ann", Run_As="ops")
    assert (refused[0], refused[1]["code"]) == (403, "PAL-250")
    assert api.ask("GET", "/entities", user="watcher")[1]["items"] == []
    assert api.ask("POST", "/entities", DATASET, user="watcher")[0] == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "other.example"},
        {"Origin": "https://other.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
    ],
)
def test_f58_pages_of_the_web_ask_in_vain(api: Api, headers: dict[str, str]) -> None:
    refused = api.ask("GET", "/version", **{k.replace("-", "_"): v for k, v in headers.items()})
    assert (refused[0], refused[1]["code"]) == (403, "PAL-652")


def test_f58_a_form_of_a_page_is_no_request(api: Api) -> None:
    kind = {"Content_Type": "text/plain"}
    refused = api.ask("PUT", "/safe-mode", '{"is_on": true}', **kind)
    assert (refused[0], refused[1]["code"]) == (400, "PAL-652")
    assert api.ask("GET", "/safe-mode")[1]["is_on"] is False


def test_own_names_are_taken(api: Api) -> None:
    port = api.url.rpartition(":")[2].partition("/")[0]
    origin = f"https://api.example:{port}"
    taken = api.ask("GET", "/version", Host=f"api.example:{port}", Origin=origin)
    assert taken[0] == 200


def test_f1_f4_f7_an_entity_from_its_submission_to_its_end(api: Api) -> None:
    status, found, _ = api.ask("POST", "/entities", [{**PROCESS, "inputs": [USE]}, DATASET])
    assert (status, found["state"]) == (200, "SUCCEEDED")
    assert [r["outcome"] for r in found["results"]] == ["SUBMITTED", "SUBMITTED"]
    status, entity, headers = api.ask("GET", "/entities/dataset/flights")
    first = entity["version"]
    old, new = f'"{first}"', f'"{first + 1}"'
    assert entity["definition"]["table"] == "main.t"
    assert headers["etag"] == old
    assert api.ask("GET", "/entities/dataset/flights", If_None_Match=old)[0] == 304
    changed = {**DATASET, "owner": "ann"}
    place = "/entities/dataset/flights"
    assert api.ask("PUT", place, changed)[0] == 428
    assert api.ask("PUT", place, changed, If_Match='"777"')[0] == 412
    status, result, headers = api.ask("PUT", place, changed, If_Match=old)
    assert (status, result["outcome"], headers["etag"]) == (200, "UPDATED", new)
    stale = api.ask("PUT", place, DATASET, If_Match=old)
    assert (stale[0], stale[1]["code"]) == (412, "PAL-651")
    assert api.ask("DELETE", place, If_Match=old)[0] == 412
    refused = api.ask("DELETE", place)
    assert (refused[0], refused[1]["code"]) == (409, "PAL-210")
    assert "process daily" in refused[1]["detail"]
    assert api.ask("GET", f"{place}/dependencies")[1]["dependents"] == ["process daily"]
    edges = api.ask("GET", f"{place}/lineage?start=2013-01-01T00:00Z")[1]
    assert ("INPUT_OF", "process daily") in [(e["relation"], e["target"]) for e in edges]
    assert [v["version"] for v in api.ask("GET", f"{place}/versions")[1]][-2:] == [
        first,
        first + 1,
    ]
    days = "?start=2013-01-02T00:00Z&end=2013-01-03T00:00Z"
    planned = api.ask("GET", f"/entities/process/daily/planned{days}")[1]
    assert [p["inputs"][0]["instances"] for p in planned] == [
        ["2013-01-01T00:00:00Z"],
        ["2013-01-02T00:00:00Z"],
    ]
    assert api.ask("DELETE", "/entities/process/daily")[1]["outcome"] == "DELETED"
    assert api.ask("DELETE", place)[1]["outcome"] == "DELETED"
    assert api.ask("GET", place)[0] == 404


def test_f12_partial_results_and_yaml(api: Api) -> None:
    lost = {**DATASET, "name": "lost", "table": "lost"}
    status, found, _ = api.ask("POST", "/entities", [DATASET, lost])
    assert (status, found["state"]) == (207, "PARTIAL")
    status, found, _ = api.ask("POST", "/entities", lost)
    assert (status, found["code"], found["state"]) == (404, "PAL-201", "FAILED")
    text = "\n".join(f"{name}: {value}" for name, value in DATASET.items())
    kind = {"Content_Type": "application/yaml"}
    assert api.ask("POST", "/entities/validate", text, **kind)[0] == 200
    status, found, _ = api.ask("POST", "/entities/validate", f"{text}\nx: 1", **kind)
    assert (status, found["code"]) == (422, "PAL-261")
    assert "request:6: x: is not a field here" in found["detail"]


def test_f26_lists_are_filtered_ordered_and_paged(api: Api) -> None:
    api.ask("POST", "/entities", [DATASET, {**PROCESS, "owner": "ann", "tags": ["night"]}])
    first = api.ask("GET", "/entities?limit=1")[1]
    assert ([e["name"] for e in first["items"]], first["total"]) == (["flights"], 2)
    then = api.ask("GET", first["next"].removeprefix("/api/v1"))[1]
    assert ([e["name"] for e in then["items"]], then["next"]) == (["daily"], None)
    for query in ("owner=ann", "tag=night", "kind=process", "name=ail", "order=-began_at&limit=1"):
        assert [e["name"] for e in api.ask("GET", f"/entities?{query}")[1]["items"]] == ["daily"]
    assert api.ask("GET", "/entities?table=t")[1]["total"] == 1
    refused = api.ask("GET", "/entities?limit=0&kind=x")
    assert refused[0] == 422
    assert {e["field"] for e in refused[1]["errors"]} == {"query.limit", "query.kind"}
    _, _, headers = api.ask("GET", "/entities")
    assert api.ask("GET", "/entities", If_None_Match=headers["etag"])[0] == 304


def test_f11_a_key_makes_a_request_happen_once(api: Api) -> None:
    key = {"Idempotency_Key": "first"}
    status, found, _ = api.ask("POST", "/entities", DATASET, **key)
    assert found["results"][0]["outcome"] == "SUBMITTED"
    again = api.ask("POST", "/entities", DATASET, **key)
    assert (again[0], again[1]) == (status, found)
    assert again[2]["idempotency-replayed"] == "true"
    other = api.ask("POST", "/entities", {**DATASET, "owner": "x"}, **key)
    assert (other[0], other[1]["code"]) == (400, "PAL-652")
    assert api.ask("POST", "/entities", DATASET)[1]["results"][0]["outcome"] == "UNCHANGED"
    late = {"Idempotency_Key": "late"}
    orphan = {**PROCESS, "inputs": [{**USE, "dataset": "later"}]}
    assert api.ask("POST", "/entities", orphan, **late)[0] == 404
    assert api.ask("POST", "/entities", PROCESS, **late)[0] == 200


def test_f14_f59_safe_mode_and_events(api: Api) -> None:
    assert api.ask("PUT", "/safe-mode", {"is_on": True}, user="ann")[0] == 403
    before = api.ask("GET", "/events?limit=1", user="watcher")[1]["last"]
    begun = api.ask("PUT", "/safe-mode", {"is_on": True, "reason": "moving"})[1]
    assert (begun["is_on"], begun["user"], begun["reason"]) == (True, "ops", "moving")
    refused = api.ask("POST", "/entities", DATASET)
    assert (refused[0], refused[1]["code"]) == (423, "PAL-650")
    assert api.ask("GET", "/version", user="ann")[1]["safe_mode"]["is_on"] is True
    assert api.ask("PUT", "/safe-mode", {"is_on": False})[1]["is_on"] is False
    found = api.ask("GET", f"/events?after={before}", user="watcher")[1]
    assert [(e["name"], e["status"]) for e in found["events"]] == [
        ("safe_mode.on", "SUCCEEDED"),
        ("entity.submit", "FAILED"),
        ("safe_mode.off", "SUCCEEDED"),
    ]
    failed = api.ask("GET", f"/events?after={before}&status=FAILED")[1]["events"]
    assert [e["data"]["code"] for e in failed] == ["PAL-650"]
    assert api.ask("GET", "/events", user="carl")[0] == 403


def test_the_description_lists_every_area(api: Api) -> None:
    status, found, _ = api.ask("GET", "/openapi.json", user=None)
    assert (status, found["info"]["title"]) == (200, "Palimpsest control API")
    assert {"/api/v1/entities", "/api/v1/events", "/api/v1/safe-mode"} <= set(found["paths"])
    missing = api.ask("GET", "/nowhere")
    assert (missing[0], missing[2]["content-type"]) == (404, "application/problem+json")
    assert api.ask("POST", "/version", {})[0] == 405


def test_too_large_bodies_are_refused_before_they_are_read(api: Api) -> None:
    port = int(api.url.rpartition(":")[2].partition("/")[0])
    assert api.context is not None
    with socket.create_connection(("localhost", port)) as plain:
        with api.context.wrap_socket(plain, server_hostname="localhost") as peer:
            head = "POST /api/v1/entities HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999"
            peer.sendall(f"{head}\r\n\r\n".encode())
            assert peer.recv(100).startswith(b"HTTP/1.1 413")


def test_where_the_port_may_be(tmp_path: Path) -> None:
    for address, trusts in (("0.0.0.0:0", True), ("0.0.0.0:0", False), ("127.0.0.1:0", False)):
        with pytest.raises(PalimpsestError):
            check_control(ControlOptions(address, (), trusts=trusts, tls_files=None))
    assert check_control(ControlOptions(None, (), trusts=False, tls_files=None)) is None


@pytest.mark.long
def test_f14_serve_begins_safe_and_answers_beside_the_other_ports(tmp_path: Path) -> None:
    options = ("--control", "127.0.0.1:0", "--http", "127.0.0.1:0", "--safe-mode")
    server = launch(tmp_path, *options)
    try:
        assert server.process.stdout is not None
        control = server.process.stdout.readline().strip().removesuffix("/")
        pages = server.process.stdout.readline().strip()
        api = Api(control, None, ec.generate_private_key(ec.SECP256R1()))
        found = api.ask("GET", "/version", user=None)
        assert (found[0], found[1]["safe_mode"]["is_on"]) == (200, True)
        with pytest.raises(HTTPError, match="404"):
            urllib.request.urlopen(f"{pages}api/v1/version", timeout=10)  # noqa: S310
        command = [warm_python(), "-m", "gateway.cli", "safe-mode", "status"]
        told = subprocess.run(
            [*command, "-w", str(tmp_path / "w")], capture_output=True, text=True, check=True
        )
        assert "safe mode is on" in told.stdout
    finally:
        server.end()


def test_f2_f3_schedules_over_http(api: Api) -> None:
    api.ask("POST", "/entities", [DATASET, {**PROCESS, "sla": {"high": "1 HOUR"}}])
    keys = {"entities": [{"kind": "process", "name": "daily"}]}
    for act, outcome in (
        ("schedule", "SCHEDULED"),
        ("suspend", "SUSPENDED"),
        ("suspend", "UNCHANGED"),
        ("resume", "SCHEDULED"),
        ("touch", "TOUCHED"),
    ):
        status, found, _ = api.ask("POST", f"/schedules/{act}", keys)
        assert (status, found["results"][0]["outcome"]) == (200, outcome)
    states = {s["name"]: s["state"] for s in api.ask("GET", "/schedules")[1]}
    assert states == {"daily": "SCHEDULED", "flights": "SUBMITTED"}
    missed = api.ask("GET", "/sla?only_missed=true")[1]
    assert {level["mark"] for level in missed} <= {"high"}
    assert api.ask("POST", "/schedules/suspend", keys, user="carl")[0] == 403
    nobody = {"entities": [{"kind": "process", "name": "nobody"}]}
    assert api.ask("POST", "/schedules/suspend", nobody)[0] == 404


def test_l18_lineage_is_asked_over_http(api: Api) -> None:
    status, found, _ = api.ask("GET", "/lineage?name=summed.total&up=3&down=0")
    edges = {(e["source"]["table"], e["source"]["column"], e["subtype"]) for e in found["up"]}
    assert (status, found["table"], found["down"]) == (200, "main.summed", [])
    assert ("main.counted", "a", "AGGREGATION") in edges
    assert all(e["statement"].startswith("CREATE TABLE summed AS") for e in found["up"])
    affected = api.ask("GET", "/lineage/impact?name=counted")[1]
    assert affected == [{"level": 1, "table": "main.summed", "columns": ["total"], "direct": True}]
    assert len(api.ask("GET", "/lineage/path?start=counted.a&end=summed")[1]) == 1
    assert api.ask("GET", "/lineage/path?start=summed&end=counted")[1] == []
    assert api.ask("GET", "/lineage?name=nothing")[0] == 404
    assert api.ask("GET", "/lineage?name=counted&up=1000")[0] == 422
    assert api.ask("GET", "/lineage?name=summed", user="carl")[0] == 404


def test_jobs_policies_and_the_audit_log(api: Api) -> None:
    status, found, _ = api.ask(
        "POST", "/jobs/compact", {"table": "t", "options": {"mode": "major"}}
    )
    assert (status, isinstance(found, list)) == (200, True), found
    assert api.ask("POST", "/jobs/compact", {"table": "t"}, user="carl")[0] == 404
    assert api.ask("POST", "/jobs/compact", {}, user="carl")[0] == 403
    assert api.ask("POST", "/jobs/nothing", {})[0] == 404
    runs = api.ask("GET", "/jobs?kind=compact&limit=1", user="watcher")[1]
    assert [run["kind"] for run in runs] in (["compact"], [])
    assert api.ask("GET", "/jobs", user="carl")[0] == 403
    assert api.ask("GET", "/jobs/due", user="watcher")[0] == 200
    assert api.ask("GET", "/policies", user="carl")[0] == 200
    effective = api.ask("GET", "/policies/t")
    assert (effective[0], len(effective[1]) > 0) == (200, True)
    assert api.ask("GET", "/policies/x%22%3B%20DROP%20TABLE%20t")[0] in {404, 422}
    api.ask("PUT", "/safe-mode", {"is_on": True})
    entries = api.ask("GET", "/audit?limit=1000")[1]
    assert entries[-1]["action"] == "safe_mode.on"
    assert entries[-1]["actor"] == "ops"
    page = api.ask("GET", f"/audit?after={entries[0]['seq']}&limit=2")[1]
    assert page == entries[1:3]
    checked = api.ask("GET", "/audit/check")[1]
    assert (checked["is_whole"], checked["head"]) == (True, entries[-1]["hash"])
    assert api.ask("GET", "/audit", user="watcher")[0] == 403


def test_f21_f23_instances_over_http(api: Api) -> None:
    api.ask("POST", "/entities?schedule=true", PROCESS)
    days = "?start=2013-01-02T00:00Z&end=2013-01-03T00:00Z"
    status, found, _ = api.ask("GET", f"/instances/daily/status{days}")
    assert (status, len(found)) == (200, 2), found
    for query in ("", "?process=daily&state=RUNNING&order=nominal", "/summary?process=daily"):
        assert api.ask("GET", f"/instances{query}")[0] == 200
    span = {"start": "2013-01-02T00:00Z"}
    assert api.ask("POST", "/instances/daily/kill", {**span, "end": span["start"]})[1] == []
    assert api.ask("POST", "/instances/daily/kill", span)[0] == 404
    assert api.ask("POST", "/instances/daily/kill", span, user="carl")[0] == 403
    assert api.ask("POST", "/instances/daily/explode", span)[0] == 422
    assert api.ask("GET", "/instances/daily/triage?nominal=2013-01-02")[0] == 404


def test_f66_what_instances_would_run_over_http(api: Api) -> None:
    asked = {**PROCESS, "sql": "SELECT $nominal AS t"}
    api.ask("POST", "/entities", asked)
    days = "start=2013-01-02&end=2013-01-03"
    status, found, _ = api.ask("GET", f"/instances/daily/preview?{days}")
    assert (status, [one["nominal"][:10] for one in found]) == (200, ["2013-01-02", "2013-01-03"])
    assert "2013-01-02" in found[0]["statements"][0]
    assert api.ask("GET", "/instances?process=daily")[1] == []
    assert api.ask("GET", f"/instances/daily/preview?{days}", user="carl")[0] == 403
    assert api.ask("GET", f"/instances/nowhere/preview?{days}")[0] == 404
    assert api.ask("GET", "/instances/daily/preview")[0] == 422
    assert api.ask("GET", "/instances/daily/preview?start=yesterday")[0] == 422


def test_what_a_request_says_in_vain_is_refused(api: Api) -> None:
    api.ask("POST", "/entities", PROCESS)
    beyond = "9999-12-31T23:59:59-23:00"
    for asked in ("preview", "status", "triage", "attempts", "dependencies"):
        name = "start" if asked in {"preview", "status"} else "nominal"
        assert api.ask("GET", f"/instances/daily/{asked}?{name}={beyond}")[0] == 422, asked
    for asked in ("planned", "lineage"):
        assert api.ask("GET", f"/entities/process/daily/{asked}?start={beyond}")[0] == 422, asked
    assert api.ask("POST", "/entities", {**PROCESS, "start": beyond})[0] == 422
    for path, body in (
        ("/instances/daily/rerun", {"start": "2013-01-02", "forced": True}),
        ("/jobs/compact", {"table": "t", "dry_run": True}),
        ("/privacy/run", {"dry_run": True}),
        ("/schedules/suspend", {"entities": [], "all": True}),
    ):
        status, found, _ = api.ask("POST", path, body)
        assert (status, found["code"]) == (422, "PAL-652"), path
        assert any("Extra" in e["message"] for e in found["errors"]), path
    assert api.ask("POST", "/privacy/run", {})[0] == 200


@pytest.mark.parametrize(
    ("path", "near"),
    [
        ("/instances?state=FALED", "FAILED"),
        ("/instances?order=nominol", "nominal"),
        ("/instances?process=daly", "daily"),
        ("/instances/summary?process=daly", "daily"),
        ("/instances?stat=FAILED", "state"),
        ("/entities?order=-begun_at", "-began_at"),
        ("/entities?kind=proces", "process"),
        ("/events?status=FALED", "FAILED"),
        ("/events?name=instance.rum", "instance.run"),
        ("/events?entity_kind=proces", "process"),
        ("/jobs?state=FALED", "FAILED"),
        ("/jobs?kind=compct", "compact"),
        ("/schedules?kind=proces", "process"),
        ("/sla?name=daly", "daily"),
        ("/privacy/requests?state=QUEUD", "QUEUED"),
        ("/privacy/requests?sate=QUEUED", "state"),
        ("/policies?table=t", "there is none"),
    ],
)
def test_words_that_no_list_knows_are_refused(api: Api, path: str, near: str) -> None:
    assert api.ask("POST", "/entities", PROCESS)[0] == 200
    status, found, _ = api.ask("GET", path)
    assert status in {400, 404, 422}, found
    assert near in json.dumps(found), found
