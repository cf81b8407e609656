"""Status callbacks of OpenDSR (section 8.5): whoever asked for them is told each new status.

A request keeps, by URL, the status that was told last. Each look calls those whose request has
another one now, and tries again what failed: after a minute, then twice as long each time, up to
six hours, twenty times in all. Bodies are signed, as answers are; they name nobody.

Only places that PALIMPSEST_OPENDSR_CALLBACKS lists are called: URLs such as
``https://consent.example/opendsr``, separated by blanks. Whoever may submit could otherwise have
this server call any other.
"""

from __future__ import annotations

import json
import logging
import os
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from http.client import HTTPException
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, unquote, urlsplit

from gateway.governance.events import EventName, EventStatus, record_event
from gateway.privacy_desk.opendsr import (
    CANCELLED,
    COMPLETED,
    LATEST,
    VERSIONS,
    Processor,
    processor,
    signed_headers,
    status_of_request,
)
from gateway.privacy_desk.submission import CALLBACKS, request_error
from gateway.session.operations import Advance, operation
from journal.model.errors import PalimpsestError
from journal.model.version import to_datetime
from journal.records import privacy_rows as rows_of
from journal.records.privacy_rows import PrivacyRequest

if TYPE_CHECKING:
    from email.message import Message
    from http.client import HTTPResponse
    from typing import IO

    from gateway.session.session import Session
    from journal.model.store_session import RecordSession

_LOG = logging.getLogger("palimpsest.privacy")
_PLACES = "PALIMPSEST_OPENDSR_CALLBACKS"
_DONE = "called_back"
_FIRST_PAUSE, _PAUSE_MAX = timedelta(minutes=1), timedelta(hours=6)
_TRIES_MAX = 20
_WAIT_S, _LOOK_S = 10, 30
_ENDS = frozenset({COMPLETED, CANCELLED})


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Lets no answer send a callback to a place that is not listed."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: Message,
        newurl: str,
    ) -> None:
        return None


def check_callbacks(urls: Sequence[str]) -> None:
    """Raise PRIVACY_REQUEST unless the environment lists the place of each URL."""
    places = os.environ.get(_PLACES, "").split()
    for url in urls:
        if not any(_is_below(url, place) for place in places):
            raise request_error(
                f"the server may not call {url}, which status_callback_urls names",
                f"whoever runs it adds the place to {_PLACES}; or ask for the status",
            )


def _is_below(url: str, place: str) -> bool:
    """True for a URL of the same origin whose path begins with that of a place."""
    try:
        wanted, known = urlsplit(url), urlsplit(place)
        is_same = _origin(wanted) == _origin(known)
    except ValueError:
        return False
    path, root = wanted.path or "/", known.path.rstrip("/")
    is_plain = wanted.username is None and ".." not in unquote(path).split("/")
    return is_same and is_plain and (path == root or path.startswith(f"{root}/"))


def _origin(url: SplitResult) -> tuple[str, str | None, int | None]:
    if url.scheme not in {"http", "https"} or not url.hostname:
        raise ValueError(url.scheme)
    return url.scheme, url.hostname, url.port or {"http": 80, "https": 443}[url.scheme]


@operation
def send_callbacks(session: Session, _advance: Advance) -> int:
    """Call whoever is to be told of a new status, as the scheduler does; how many were told.

    Raises NOT_SUPPORTED where somebody is to be called and there is no key to sign with.
    """
    journal, until = session.journal, time.monotonic() + _LOOK_S
    with journal.reading_session() as records:
        found = [(r, _status(records, r)) for r in rows_of.requests_with(records, CALLBACKS)]
    now = to_datetime(journal.clock.now())
    due = [(r, status) for r, status in found if _urls_due(r, status, now)]
    if not due:
        return 0
    own, told = processor(), 0
    with journal.exclusive("privacy:callbacks") as is_mine:
        for request, status in due if is_mine else ():
            if time.monotonic() > until:
                break
            answers = {
                url: _call(own, url, request, status) for url in _urls_due(request, status, now)
            }
            told += sum(answers.values())
            _note(session, request.id, status, answers, now)
    return told


def _status(records: RecordSession, request: PrivacyRequest) -> str:
    """What the status of a request is called; a DUPLICATE has that of its twin."""
    twin = request.detail.get("duplicate_of")
    found = None if twin is None else rows_of.request_by_id(records, twin)
    return status_of_request((found or request).state)


def _urls_due(request: PrivacyRequest, status: str, now: datetime) -> list[str]:
    kept = request.detail[CALLBACKS]
    if kept.get("next") is not None and datetime.fromisoformat(kept["next"]) > now:
        return []
    return [url for url, told in kept["told"].items() if told != status]


def _call(own: Processor, url: str, request: PrivacyRequest, status: str) -> bool:
    """Send one callback; False if it was not taken."""
    version = VERSIONS[request.detail[CALLBACKS].get("version", LATEST)]
    rows = request.detail.get("result", {}).get("rows") if version.has_counts else None
    body = {
        "controller_id": own.controller_id,
        "expected_completion_time": request.due_at.isoformat(),
        "status_callback_url": url,
        "subject_request_id": request.external_id,
        "request_status": status,
        **({} if rows is None else {"results_count": rows}),
    }
    data = json.dumps(body).encode()
    headers = {"Content-Type": "application/json", **signed_headers(own, version, data)}
    try:
        check_callbacks([url])
        sent = urllib.request.Request(url, data, headers)  # noqa: S310 (its scheme was checked)
        opener = urllib.request.build_opener(_NoRedirects)
        answer: HTTPResponse
        with opener.open(sent, timeout=_WAIT_S) as answer:
            return 200 <= answer.status < 300
    except (OSError, ValueError, HTTPException, PalimpsestError) as error:
        # One that is not listed any more, or speaks no HTTP, holds up none of the others.
        _LOG.warning("a callback about request %s failed: %s", request.id, type(error).__name__)
        return False


def _note(
    session: Session, name: str, status: str, answers: dict[str, bool], now: datetime
) -> None:
    """Note who was told, and when those are called again who were not."""
    with session.journal.exclusive_session() as records:
        request = rows_of.request_by_id(records, name)
        if request is None or CALLBACKS not in request.detail:
            return
        kept: dict[str, Any] = dict(request.detail[CALLBACKS])
        kept["told"] = {u: status if answers.get(u) else t for u, t in kept["told"].items()}
        kept["failures"] = 0 if all(answers.values()) else kept.get("failures", 0) + 1
        pause = min(_PAUSE_MAX, _FIRST_PAUSE * 2 ** min(kept["failures"], 12) / 2)
        kept["next"] = (now + pause).isoformat() if kept["failures"] else None
        is_given_up = kept["failures"] >= _TRIES_MAX
        if is_given_up:
            data = {"failures": kept["failures"], "request_status": status}
            record_event(
                *(session, records, EventName.REQUEST_CALLBACK, "request", name),
                status=EventStatus.FAILED,
                data=data,
            )
        is_over = is_given_up or all(told in _ENDS for told in kept["told"].values())
        detail = {n: v for n, v in request.detail.items() if n != CALLBACKS}
        detail[_DONE if is_over else CALLBACKS] = kept
        rows_of.put_request(records, replace(request, detail=detail))
        records.commit()
