"""Verifies the audit log: its chain of hashes, and its entries against the records.

It finds entries that were changed, added or removed, and requests that the log does not know. It
changes nothing.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterator, Sequence

from journal.erasure import audit
from journal.erasure.audit_anchor import Anchor, anchor_problems, newest_anchor
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
from journal.model.version import to_datetime
from journal.records import erasure_rows as rows_of
from journal.records.erasure_rows import AuditRow
from journal.records.login_rows import load_logins


@dataclass(frozen=True, slots=True)
class AuditCheck:
    """What a check of the log found; ``newest`` is to be kept elsewhere."""

    newest: Anchor
    problems: tuple[str, ...]

    @property
    def entries(self) -> int:
        """How many entries the log has."""
        return self.newest.entry

    @property
    def head(self) -> str:
        """The hash of the newest."""
        return self.newest.hash


def verify(
    journal: ErasureJournal,
    expected_head: str | None = None,
    anchors: Sequence[Anchor] = (),
) -> AuditCheck:
    """Follow the chain, and hold requests, lists and the login log against it.

    ``expected_head`` is a hash noted earlier that must be part of it, and so must each of the
    ``anchors`` that are of this store.
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
        now = to_datetime(journal.clock.now())
        newest = newest_anchor(session, rows, audit.FIRST, now)
    if not is_known:
        return AuditCheck(newest, ("the secret is not the one that made the entries",))
    problems = list(_chain_problems(rows, secret))
    if expected_head not in {r.hash for r in rows} | {audit.FIRST, None}:
        problems.append("the noted hash is not in the log: entries at its end were removed")
    problems += anchor_problems(anchors, newest.store, rows)
    problems += marked
    problems += _unrecorded(rows, requests)
    if rows:
        problems += lists_problems(rows, lists)
        problems += login_problems(rows, logins)
    return AuditCheck(newest, tuple(problems))


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
