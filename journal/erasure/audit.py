"""The audit log: who asked for what, each entry chained to the one before by a keyed hash.

Whoever changes, removes or adds an entry without the warehouse's secret breaks the chain at that
place; requests whose entries are missing show that some were cut off. The newest hash, kept
elsewhere, also shows that requests were not cut off with them. Entries hold counts and names, never
an identifier.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from journal.erasure.requests import ErasureRequest, Outcome, State, Target
from journal.erasure.seam import ErasureJournal, SecretJournal
from journal.erasure.secret import lasting_secret
from journal.model.store_session import RecordSession, StoreSession
from journal.records import erasure_rows as rows_of
from journal.records.erasure_rows import AuditRow

_FIRST = "0" * 64


def record(
    journal: SecretJournal,
    session: RecordSession,
    actor: str,
    action: str,
    what: str,
    detail: Mapping[str, Any],
) -> AuditRow:
    """Append an entry in the session's transaction; the caller holds the commit lock."""
    last = rows_of.last_audit(session)
    seq = 1 if last is None else last.seq + 1
    previous = _FIRST if last is None else last.hash
    text = json.dumps(detail, sort_keys=True)
    row = AuditRow(seq, journal.clock.now(), actor, action, what, text, previous, "")
    chained = AuditRow(
        *(row.seq, row.at, row.actor, row.action, row.object, row.detail, row.previous),
        _hash(lasting_secret(journal, session), row),
    )
    rows_of.add_audit(session, chained)
    return chained


def record_accepted(
    journal: ErasureJournal, session: StoreSession, request: ErasureRequest
) -> None:
    """Record that a request was accepted."""
    searched = [t.table for t in request.targets if t.outcome is not Outcome.NOT_SEARCHED]
    detail = {
        "types": dict(request.types),
        "searched": searched,
        "keys": sum(t.keys for t in request.targets),
        "reason": request.reason,
    }
    left = {name: count for t in request.targets for name, count in t.dangling.items()}
    if left:
        detail["dangling"] = left
    record(journal, session, request.by, "erase.accept", request.id, detail)


def record_searched(
    journal: ErasureJournal, session: StoreSession, by: str, request: ErasureRequest, done: Target
) -> None:
    """Record that a copy of a request was searched that could not be before."""
    detail = {"table": done.table, "copy": done.copy, "keys": done.keys}
    record(journal, session, by, "erase.search", request.id, detail)


def purged(
    journal: ErasureJournal, session: StoreSession, request: ErasureRequest, by: str
) -> None:
    """Record that a request was purged, with its receipts."""
    record(journal, session, by, "erase.purge", request.id, _receipts(request))


def _receipts(request: ErasureRequest) -> dict[str, Any]:
    receipts = [
        {"table": t.table, "outcome": t.outcome.value, "versions": t.versions_removed}
        for t in request.targets
    ]
    return {"tables": receipts}


def completed(
    journal: ErasureJournal, session: StoreSession, request: ErasureRequest, by: str
) -> None:
    """Record that nothing of a request is left."""
    detail = {"versions": sum(t.versions_removed for t in request.targets)}
    record(journal, session, by, "erase.complete", request.id, detail)


def _hash(secret: str, row: AuditRow) -> str:
    fields = [row.seq, row.at, row.actor, row.action, row.object, row.detail, row.previous]
    return hmac.new(bytes.fromhex(secret), json.dumps(fields).encode(), hashlib.sha256).hexdigest()


@dataclass(frozen=True, slots=True)
class AuditCheck:
    """What a check of the log found; ``head`` is the newest hash, to be kept elsewhere."""

    entries: int
    head: str
    problems: tuple[str, ...]


def verify(journal: ErasureJournal, expected_head: str | None = None) -> AuditCheck:
    """Follow the chain, and hold the requests against it.

    ``expected_head`` is a hash noted earlier that must be part of it.
    """
    with journal.reading_session() as session:
        rows = rows_of.load_audit(session)
        requests = [ErasureRequest.of_row(row) for row in rows_of.load_erasures(session)]
    if not rows:
        lost = () if expected_head in {None, _FIRST} else ("the log is empty",)
        return AuditCheck(0, _FIRST, (*lost, *_unrecorded(rows, requests)))
    secret = journal.read_secret()
    problems = []
    previous = _FIRST
    for expected, row in enumerate(rows, 1):
        if row.seq != expected:
            problems.append(f"entry {expected} is missing, entry {row.seq} is in its place")
            break
        if row.previous != previous:
            problems.append(f"entry {row.seq} does not follow the entry before it")
        if not hmac.compare_digest(row.hash, _hash(secret, row)):
            problems.append(f"entry {row.seq} was altered")
        previous = row.hash
    if expected_head is not None and expected_head not in {r.hash for r in rows} | {_FIRST}:
        problems.append("the noted hash is not in the log: entries at its end were removed")
    problems += _unrecorded(rows, requests)
    return AuditCheck(len(rows), rows[-1].hash, tuple(problems))


_RECORDED = {
    State.PURGED: ("erase.accept", "erase.purge"),
    State.COMPLETED: ("erase.accept", "erase.purge", "erase.complete"),
    State.CANCELLED: ("erase.accept", "erase.cancel"),
}


def _unrecorded(rows: Sequence[AuditRow], requests: Sequence[ErasureRequest]) -> Iterator[str]:
    """What requests say of themselves and the log does not: entries, or receipts, were changed."""
    recorded = {(row.object, row.action): row for row in rows}
    for request in requests:
        for action in _RECORDED.get(request.state, ("erase.accept",)):
            row = recorded.get((request.id, action))
            if row is None:
                yield f"request {request.id} is {request.state}, and the log has no {action} of it"
            elif action == "erase.purge" and json.loads(row.detail) != _receipts(request):
                yield f"the receipts of request {request.id} are not those that were recorded"
