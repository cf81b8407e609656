"""Status callbacks of OpenDSR: signed, one for each status, tried again, only to listed places."""

from __future__ import annotations

import base64
import json
import logging
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

import gateway
from gateway.dbapi.connection import Connection
from gateway.jobs.scheduler import Scheduler
from gateway.privacy_desk import callbacks, decisions, questions, running
from gateway.privacy_desk.callbacks import check_callbacks, send_callbacks
from gateway.privacy_desk.desk_policy import PrivacyAction
from gateway.privacy_desk.submission import NewRequest, SubmissionTerms, submit
from gateway.session.operations import no_progress
from journal.model.errors import Code, PalimpsestError
from tests.support.kept import rows
from tests.support.opendsr_key import check_signature, make_opendsr_key
from tests.support.web_hook import WebHook, web_hook

ADA = "ada@x.example"


@pytest.fixture
def con(tmp_path: Path) -> Iterator[Connection]:
    with gateway.connect(f"palimpsest:///{tmp_path}/w", autocommit=True) as con:
        con.execute("CREATE TABLE people (id INTEGER PRIMARY KEY, email VARCHAR)"
                    " WITH (erasure = 'email LOWER')")  # fmt: skip
        con.execute(f"INSERT INTO people VALUES (1, '{ADA}'), (2, 'bob@x.example')")
        yield con


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> Iterator[WebHook]:
    """A controller that listens at a listed place."""
    with web_hook() as found:
        place = f"http://127.0.0.1:{found.port}/opendsr"
        monkeypatch.setenv("PALIMPSEST_OPENDSR_CALLBACKS", f"https://other.example {place}")
        yield found


@pytest.fixture
def public(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> rsa.RSAPublicKey:
    """The key that callbacks are signed with."""
    return make_opendsr_key(tmp_path, monkeypatch)


def _submit(con: Connection, hook: WebHook, name: str, version: str = "2.0") -> str:
    url = f"http://127.0.0.1:{hook.port}/opendsr/status"
    terms = SubmissionTerms(PrivacyAction.ERASURE, callbacks=(url,), callback_version=version)
    submit(con.session, no_progress, terms, [NewRequest((("email", ADA),), name)])
    return url


@pytest.mark.first(1)
@pytest.mark.parametrize(("version", "header"), [("2.0", "x-opendsr"), ("1.0", "x-opengdpr")])
def test_each_new_status_is_told_once_and_signed(
    con: Connection, hook: WebHook, public: rsa.RSAPublicKey, version: str, header: str
) -> None:
    name = str(uuid.uuid4())
    url = _submit(con, hook, name, version)
    Scheduler(lambda: con.session).once()
    assert hook.sent == []
    running.run(con.session, no_progress)
    for _ in range(2):
        Scheduler(lambda: con.session).once()
    ((headers, data),) = hook.sent
    headers = {name.lower(): value for name, value in headers.items()}
    signature = base64.b64decode(headers[f"{header}-signature"])
    check_signature(public, signature, data)
    told = json.loads(data)
    assert (told["request_status"], told["subject_request_id"]) == ("completed", name)
    assert (told["status_callback_url"], headers[f"{header}-processor-domain"]) == (
        url,
        "processor.example",
    )
    assert ADA.encode() not in data
    shown = questions.show_request(con.session, no_progress, name).request
    assert "callbacks" not in shown.detail
    assert shown.detail["called_back"]["told"] == {url: "completed"}


def test_what_is_not_taken_is_tried_again_and_given_up_in_the_end(
    con: Connection, hook: WebHook, public: rsa.RSAPublicKey, monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    _submit(con, hook, "T-1")
    decisions.cancel(con.session, no_progress, ["T-1"], None)
    hook.status = 503
    with caplog.at_level(logging.WARNING):
        assert send_callbacks(con.session, no_progress) == 0
    assert "HTTPError" in caplog.text
    assert send_callbacks(con.session, no_progress) == 0
    assert len(hook.sent) == 1, "the next try comes after a pause"
    monkeypatch.setattr(callbacks, "_urls_due", lambda r, s, _: list(r.detail["callbacks"]["told"]))
    monkeypatch.setattr(callbacks, "_TRIES_MAX", 3)
    for _ in range(4):
        send_callbacks(con.session, no_progress)
    assert len(hook.sent) == 3
    told = rows(con, "SELECT status FROM system.events WHERE name = 'request.callback'")
    assert told == [("FAILED",)]


@pytest.mark.parametrize("end", ["status of all", "status"])
def test_one_that_cannot_be_called_holds_up_no_other(
    con: Connection,
    hook: WebHook,
    public: rsa.RSAPublicKey,
    monkeypatch: pytest.MonkeyPatch,
    end: str,
) -> None:
    """A blank in a URL makes no request, and a place may be listed no more."""
    root = f"http://127.0.0.1:{hook.port}"
    urls = f"{root}/old/{end}", f"{root}/opendsr/status"
    terms = SubmissionTerms(PrivacyAction.ERASURE, callbacks=urls)
    submit(con.session, no_progress, terms, [NewRequest((("email", ADA),), "T-1")])
    decisions.cancel(con.session, no_progress, ["T-1"], None)
    listed = f"{root}/opendsr" if end == "status" else f"{root}/"
    monkeypatch.setenv("PALIMPSEST_OPENDSR_CALLBACKS", listed)
    assert send_callbacks(con.session, no_progress) == 1
    assert len(hook.sent) == 1


def test_a_redirect_is_not_followed(
    con: Connection, hook: WebHook, public: rsa.RSAPublicKey
) -> None:
    _submit(con, hook, "T-1")
    decisions.cancel(con.session, no_progress, ["T-1"], None)
    hook.status, hook.location = 307, f"http://127.0.0.1:{hook.port}/admin"
    assert send_callbacks(con.session, no_progress) == 0
    assert len(hook.sent) == 1


@pytest.mark.parametrize(
    ("url", "is_listed"),
    [
        ("https://consent.example/opendsr", True),
        ("https://consent.example:443/opendsr/a?b=c", True),
        ("https://consent.example/opendsrs", False),
        ("https://consent.example/opendsr/../admin", False),
        ("https://consent.example/opendsr/%2e%2E%2fadmin", False),
        ("http://consent.example/opendsr", False),
        ("https://consent.example.evil/opendsr", False),
        ("https://me@consent.example/opendsr", False),
        ("https://consent.example:8443/opendsr", False),
        ("file:///opendsr", False),
        ("https://[consent.example/opendsr", False),
    ],
)
def test_only_listed_places_are_called(
    monkeypatch: pytest.MonkeyPatch, url: str, is_listed: bool
) -> None:
    monkeypatch.setenv("PALIMPSEST_OPENDSR_CALLBACKS", "https://consent.example/opendsr/")
    if is_listed:
        check_callbacks([url])
        return
    with pytest.raises(PalimpsestError) as caught:
        check_callbacks([url])
    assert caught.value.code is Code.PRIVACY_REQUEST
