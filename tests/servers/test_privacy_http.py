"""The privacy desk over HTTP, and OpenDSR: what is taken, who may, and that nobody is named."""

from __future__ import annotations

import base64
import json
import ssl
import urllib.request
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from gateway.access.logins import Logins
from gateway.config import Settings
from gateway.opening.warehouses import WAREHOUSES
from gateway.servers.client_sessions import session_of_client
from gateway.servers.control.opening import ControlOptions, control_port
from gateway.servers.ending import Ending
from gateway.servers.limits import ServerLimits
from gateway.servers.pgwire.admission import Admission
from gateway.servers.tls import ServerTls, TlsFiles
from tests.servers.test_control import PASSWORD, Api
from tests.servers.test_logins import make_certificates
from tests.support.opendsr_key import check_signature, make_opendsr_key

ADA, BOB = "ada@x.example", "bob@x.example"


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """A port over a table that identifies two people."""
    folder = tmp_path_factory.mktemp("control")
    make_certificates(folder, {"server": "localhost"})
    opened = WAREHOUSES.acquire(f"palimpsest:///{folder}/w")
    owner = opened.session(Settings(), dialect="duckdb", autocommit=True, user=None)
    for text in (
        "CREATE TABLE people (id INTEGER PRIMARY KEY, email VARCHAR) WITH (erasure = 'email')",
        f"INSERT INTO people VALUES (1, '{ADA}'), (2, '{BOB}')",
        f"CREATE USER ops PASSWORD '{PASSWORD}'",
        f"CREATE USER ann PASSWORD '{PASSWORD}'",
        f"CREATE USER dora PASSWORD '{PASSWORD}'",
        "GRANT ADMIN ON SYSTEM TO ops",
        "GRANT ERASE ON SYSTEM TO ann",
        "GRANT APPROVE ON SYSTEM TO dora",
    ):
        owner.execute(text).close()
    owner.close()
    files = TlsFiles(folder / "server.pem", folder / "server.key")
    catalog, now = (lambda: opened.journal.state.catalog), (lambda: datetime.now(UTC))
    admission = Admission(logins=Logins(catalog, b"secret", now, []), tls=ServerTls(files, ()))
    options = ControlOptions("127.0.0.1:0", ("api.example",), trusts=False, tls_files=files)
    open_session = partial(session_of_client, opened, "duckdb")
    with control_port(options, admission, open_session, ServerLimits(), Ending(1.0)) as (url,):
        context = ssl.create_default_context(cafile=str(folder / "ca.pem"))
        place = url.replace("127.0.0.1", "localhost").removesuffix("/")
        yield Api(place, context, ec.generate_private_key(ec.SECP256R1()))
    WAREHOUSES.release(opened)


def _submission(mail: str, action: str = "erasure", **more: Any) -> dict[str, Any]:
    return {"action": action, "requests": [{"identities": [{"type": "email", "value": mail}]}],
            **more}  # fmt: skip


@pytest.mark.long
def test_requests_are_taken_decided_and_executed(api: Api) -> None:
    status, accepted, _ = api.ask("POST", "/privacy/requests", _submission(ADA), user="ann")
    assert status == 201, accepted
    (made,) = accepted
    assert (made["state"], made["requested_by"]) == ("QUEUED", "ann")
    assert ADA not in json.dumps(made)
    place = f"/privacy/requests/{made['id']}"
    assert api.ask("POST", f"{place}/hold", {}, user="ann")[1]["state"] == "ON_HOLD"
    assert api.ask("POST", f"{place}/deny", {"reason": "no"}, user="ann")[0] == 403
    assert api.ask("POST", f"{place}/release", {}, user="ann")[1]["state"] == "QUEUED"
    assert api.ask("POST", f"{place}/approve", {}, user="dora")[1]["state"] == "QUEUED"
    assert api.ask("GET", "/privacy/due", user="ann")[1][0]["urgency"] == "IN_TIME"
    status, batches, _ = api.ask("POST", "/privacy/run", {}, user="ops")
    assert status == 200, batches
    assert {batch["step"] for batch in batches} == {"COMPLETED"}
    assert [batch["action"] for batch in batches].count("erasure") == 1
    status, shown, headers = api.ask("GET", place, user="ann")
    assert (status, shown["state"]) == (200, "COMPLETED")
    assert "etag" in headers
    assert ADA not in json.dumps(shown)
    listed = api.ask("GET", "/privacy/requests?state=COMPLETED", user="ann")[1]["items"]
    assert {one["state"] for one in listed} == {"COMPLETED"}
    assert [one["id"] for one in listed].count(made["id"]) == 1


def test_stores_are_those_that_profiles_declare(api: Api) -> None:
    own = _submission(ADA, "restriction", stores=["."])
    status, (made,), _ = api.ask("POST", "/privacy/requests", own)
    assert (status, made["state"], "options" in made["detail"]) == (201, "QUEUED", False)
    assert api.ask("POST", f"/privacy/requests/{made['id']}/cancel", {})[0] == 200
    status, error, _ = api.ask("POST", "/privacy/requests", _submission(ADA, stores=["north"]))
    assert (status, "profile north does not exist" in json.dumps(error)) == (404, True)


def test_what_cannot_be_taken_says_so_and_names_nobody(api: Api) -> None:
    unknown = {"action": "erasure", "requests": [{"identities": [{"type": "x", "value": BOB}]}]}
    status, found, _ = api.ask("POST", "/privacy/requests", unknown)
    assert (status, found["code"]) == (422, "PAL-630")
    assert BOB not in json.dumps(found)
    keyed = api.ask("POST", "/privacy/requests", _submission(BOB), Idempotency_Key="k")
    assert (keyed[0], keyed[1]["code"]) == (400, "PAL-652")
    assert api.ask("GET", "/privacy/requests/nothing")[0] == 404
    assert api.ask("POST", "/privacy/requests", _submission(BOB), user="dora")[0] == 403
    first, again = (
        api.ask("POST", "/privacy/requests", _submission(BOB, "access", idempotency_key="k"))
        for _ in range(2)
    )
    assert first[1][0]["id"] == again[1][0]["id"]


@pytest.fixture
def public(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> rsa.RSAPublicKey:
    """The key of answers of OpenDSR."""
    return make_opendsr_key(tmp_path, monkeypatch)


def _raw(api: Api, path: str, header: str) -> tuple[bytes, str]:
    pair = base64.b64encode(f"ops:{PASSWORD}".encode()).decode()
    headers = {"Authorization": f"Basic {pair}"}
    request = urllib.request.Request(api.url + path, headers=headers)  # noqa: S310
    with urllib.request.urlopen(request, timeout=30, context=api.context) as answer:  # noqa: S310
        return answer.read(), answer.headers[f"{header}-Signature"]


@pytest.mark.first(1)
@pytest.mark.parametrize(
    ("version", "root", "requests", "header"),
    [
        ("2.0", "/opendsr/v2", "requests", "X-OpenDSR"),
        ("1.0", "/opendsr/v1", "opengdpr_requests", "X-OpenGDPR"),
    ],
)
def test_opendsr(
    api: Api, public: rsa.RSAPublicKey, monkeypatch: pytest.MonkeyPatch,
    version: str, root: str, requests: str, header: str,
) -> None:  # fmt: skip
    found = api.ask("GET", f"{root}/discovery")[1]
    assert found["api_version"] == version
    place = f"{root}/{requests}"
    assert {"identity_type": "email", "identity_format": "raw"} in found["supported_identities"]
    name = str(uuid.uuid4())
    body = {
        "regulation": "gdpr",
        "subject_request_id": name,
        "subject_request_type": "erasure",
        "submitted_time": "2026-10-02T15:00:00Z",
        "subject_identities": [
            {"identity_type": "email", "identity_value": BOB, "identity_format": "raw"}
        ],
        "api_version": version,
    }
    status, taken, headers = api.ask("POST", place, body)
    assert (status, taken["subject_request_id"]) == (201, name)
    assert taken["expected_completion_time"].startswith("2026-11-02T15:00:00")
    assert json.loads(base64.b64decode(taken["encoded_request"])) == body
    named = {n.lower(): v for n, v in headers.items()}
    assert named[f"{header}-processor-domain".lower()] == "processor.example"
    assert api.ask("POST", place, body)[0] == 201
    data, signature = _raw(api, f"{place}/{name}", header)
    check_signature(public, base64.b64decode(signature), data)
    assert json.loads(data)["request_status"] == "pending"
    status, cancelled, _ = api.ask("DELETE", f"{place}/{name}")
    assert (status, cancelled["subject_request_id"]) == (202, name)
    assert (cancelled["api_version"], cancelled["encoded_request"]) == (version, "")
    assert json.loads(_raw(api, f"{place}/{name}", header)[0])["request_status"] == "cancelled"
    for wrong in (
        {**body, "status_callback_urls": ["https://controller.example"]},
        {**body, "subject_identities": [{"identity_type": "email", "identity_value": BOB}]},
        {**body, "subject_request_type": "oblivion"},
        *(
            [{**body, "regulation": "none", "subject_request_id": str(uuid.uuid4())}]
            if version == "2.0"
            else []
        ),
    ):
        status, error, _ = api.ask("POST", place, wrong)
        assert (status, error["error"]["code"]) == (400, 400)
        assert BOB not in json.dumps(error)
    monkeypatch.setenv("PALIMPSEST_OPENDSR_CALLBACKS", "https://controller.example")
    called = {**body, "subject_request_id": str(uuid.uuid4()),
              "status_callback_urls": ["https://controller.example/status"]}  # fmt: skip
    assert api.ask("POST", place, called)[0] == 201
    assert api.ask("DELETE", f"{place}/{called['subject_request_id']}")[0] == 202


def test_opendsr_answers_nothing_unsigned(api: Api) -> None:
    status, found, _ = api.ask("GET", "/opendsr/v2/discovery")
    assert (status, found["code"]) == (501, "PAL-110")
