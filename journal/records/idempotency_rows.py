"""Answers to requests with an Idempotency-Key, kept for a day."""

from __future__ import annotations

from dataclasses import astuple
from datetime import datetime, timedelta

from sqlglot import exp

from journal.model.lazy_dataclass import dataclass
from journal.model.store_session import RecordSession
from journal.records.governance_tables import IDEMPOTENCY
from journal.records.statements import by, delete, execute, insert, select

KEPT_FOR = timedelta(days=1)
_FIND = select(IDEMPOTENCY, (), by("caller", "request_key"))
_ADD, _REMOVE = insert(IDEMPOTENCY), delete(IDEMPOTENCY, by("caller", "request_key"))
_FORGET = delete(IDEMPOTENCY, {"began_at": exp.LT})


@dataclass(frozen=True, slots=True)
class KeyedRequest:
    """A request of a caller under a key; ``digest`` is of what it asks.

    ``status``, the media type ``kind`` and the body ``answer`` are None while it runs.
    """

    caller: str
    request_key: str
    digest: str
    began_at: datetime
    status: int | None = None
    kind: str | None = None
    answer: str | None = None


def keyed_request(session: RecordSession, caller: str, key: str) -> KeyedRequest | None:
    """What is known of a key of a caller."""
    rows = execute(session, _FIND, [caller, key])
    return KeyedRequest(*rows[0]) if rows else None


def put_keyed_request(session: RecordSession, request: KeyedRequest) -> None:
    """Put a request in the place of what its key had; those of earlier days go."""
    execute(session, _FORGET, [request.began_at - KEPT_FOR])
    execute(session, _REMOVE, [request.caller, request.request_key])
    execute(session, _ADD, list(astuple(request)))


def forget_keyed_request(session: RecordSession, caller: str, key: str) -> None:
    """Let a key be free again: what it was for has not happened."""
    execute(session, _REMOVE, [caller, key])
