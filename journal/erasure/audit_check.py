"""Is the audit log whole? Follows its chain, and holds what it tells of against the records.

It finds entries that were changed, added or removed, and requests that the log does not know. It
changes nothing.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterator, Sequence

from journal.erasure import audit
from journal.erasure.audit_marks import (
    LISTS,
    has_marks,
    head_problems,
    is_known_secret,
    lists_now,
    lists_problems,
)
from journal.erasure.login_chain import login_problems
from journal.erasure.requests import ErasureRequest, State
from journal.erasure.seam import ErasureJournal
from journal.model.lazy_dataclass import dataclass
from journal.records import erasure_rows as rows_of
from journal.records.erasure_rows import AuditRow
from journal.records.login_rows import load_logins


@dataclass(frozen=True, slots=True)
class AuditCheck:
    """What a check of the log found; ``head`` is the newest hash, to be kept elsewhere."""

    entries: int
    head: str
    problems: tuple[str, ...]


def verify(journal: ErasureJournal, expected_head: str | None = None) -> AuditCheck:
    """Follow the chain, and hold requests, lists and the login log against it.

    ``expected_head`` is a hash noted earlier that must be part of it.
    """
    with journal.reading_session() as session:
        rows = rows_of.load_audit(session)
        lists = lists_now(session)
        while (again := rows_of.load_audit(session)) != rows:
            # Somebody recorded something in between, and changed the lists.
            rows, lists = again, lists_now(session)
        logins = load_logins(session)
        requests = [ErasureRequest.of_row(row) for row in rows_of.load_erasures(session)]
        secret = journal.read_secret() if rows or has_marks(session) else ""
        marked = list(head_problems(session, secret, rows, journal.capabilities.folder))
        is_known = not secret or is_known_secret(session, secret)
    if not is_known:
        head = rows[-1].hash if rows else audit.FIRST
        return AuditCheck(len(rows), head, ("the secret is not the one that made the entries",))
    if not rows:
        lost = () if expected_head in {None, audit.FIRST} else ("the log is empty",)
        return AuditCheck(0, audit.FIRST, (*lost, *marked, *_unrecorded(rows, requests)))
    problems = list(_chain_problems(rows, secret))
    if expected_head is not None and expected_head not in {r.hash for r in rows} | {audit.FIRST}:
        problems.append("the noted hash is not in the log: entries at its end were removed")
    problems += marked
    problems += _unrecorded(rows, requests)
    problems += lists_problems(rows, lists)
    problems += login_problems(rows, logins)
    return AuditCheck(len(rows), rows[-1].hash, tuple(problems))


def _chain_problems(rows: Sequence[AuditRow], secret: str) -> Iterator[str]:
    previous = audit.FIRST
    for expected, row in enumerate(rows, 1):
        if row.seq != expected:
            yield f"entry {expected} is missing, entry {row.seq} is in its place"
            return
        if row.previous != previous:
            yield f"entry {row.seq} does not follow the entry before it"
        if not hmac.compare_digest(row.hash, audit.entry_hash(secret, row)):
            yield f"entry {row.seq} was altered"
        previous = row.hash


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
            elif action == "erase.purge" and not _has_receipts(row, request):
                yield f"the receipts of request {request.id} are not those that were recorded"


def _has_receipts(row: AuditRow, request: ErasureRequest) -> bool:
    detail = json.loads(row.detail)
    return {name: v for name, v in detail.items() if name != LISTS} == audit.receipts_of(request)
