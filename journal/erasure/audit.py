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
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from journal.erasure.audit_marks import LISTS, lists_now, mark_entry
from journal.erasure.requests import ErasureRequest, Outcome, Target
from journal.erasure.seam import ErasureJournal, SecretJournal
from journal.erasure.secret import lasting_secret
from journal.model.store_session import RecordSession, StoreSession
from journal.records import erasure_rows as rows_of
from journal.records.erasure_rows import AuditRow

FIRST = "0" * 64
"""What stands for the hash of the entry before the first."""
_ABOUT_LISTS = ("erase.", "hold.")
"""Actions that may change holds or suppressions; they are recorded behind the change."""
_LEAVE_LISTS = frozenset({"erase.purge", "erase.complete", "erase.scope"})
"""Those of them that leave the lists as they are, so that a batch reads the lists once."""


def record(
    journal: SecretJournal,
    session: RecordSession,
    actor: str,
    action: str,
    what: str,
    detail: Mapping[str, Any],
    *,
    lists_changed: bool = False,
) -> AuditRow:
    """Append an entry in the session's transaction; the caller holds the commit lock.

    ``lists_changed`` says so of an action that leaves holds and suppressions as they are otherwise.
    """
    last = rows_of.last_audit(session)
    seq = 1 if last is None else last.seq + 1
    previous = FIRST if last is None else last.hash
    if action.startswith(_ABOUT_LISTS) and (lists_changed or action not in _LEAVE_LISTS):
        detail = {**detail, LISTS: lists_now(session)}
    text = json.dumps(detail, sort_keys=True)
    row = AuditRow(seq, journal.clock.now(), actor, action, what, text, previous, "")
    secret = lasting_secret(journal, session)
    chained = replace(row, hash=entry_hash(secret, row))
    rows_of.add_audit(session, chained)
    mark_entry(session, secret, chained)
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
    """Record that a copy or reject file was searched after a request was accepted."""
    detail: dict[str, Any] = {"table": done.table, "copy": done.copy, "keys": done.keys}
    if done.reject_file is not None:
        detail |= {"reject_file": done.reject_file, "rows": done.versions_removed}
    record(journal, session, by, "erase.search", request.id, detail)


def purged(
    journal: ErasureJournal,
    session: StoreSession,
    request: ErasureRequest,
    by: str,
    *,
    lists_changed: bool,
) -> None:
    """Record that a request was purged, with its receipts."""
    told = receipts_of(request)
    record(journal, session, by, "erase.purge", request.id, told, lists_changed=lists_changed)


def receipts_of(request: ErasureRequest) -> dict[str, Any]:
    """What of the receipts of a purged request enters the log."""
    receipts: list[dict[str, Any]] = []
    for t in request.targets:
        told: dict[str, Any] = {
            "table": t.table,
            "outcome": t.outcome.value,
            "versions": t.versions_removed,
        }
        if t.changes:
            told |= {"columns": columns_changed(t), "versions_changed": t.versions_changed}
        if t.rows_only:
            told["rows_only"] = True
        receipts.append(told)
    return {"tables": receipts}


def columns_changed(target: Target) -> dict[str, str]:
    """By column what became of its values, without any of them."""
    return {c.column: c.change.value for c in target.changes}


def record_changed(
    journal: ErasureJournal, session: StoreSession, by: str, request: ErasureRequest, table: str
) -> None:
    """Record that the keys of a table's rows are free: they have other values, or are gone."""
    record(journal, session, by, "erase.change", request.id, {"table": table})


def completed(
    journal: ErasureJournal, session: StoreSession, request: ErasureRequest, by: str
) -> None:
    """Record that nothing of a request is left."""
    detail = {"versions": sum(t.versions_removed for t in request.targets)}
    record(journal, session, by, "erase.complete", request.id, detail)


def entry_hash(secret: str, row: AuditRow) -> str:
    """The keyed hash of an entry, over all of it but the hash itself."""
    fields = [row.seq, row.at, row.actor, row.action, row.object, row.detail, row.previous]
    return hmac.new(bytes.fromhex(secret), json.dumps(fields).encode(), hashlib.sha256).hexdigest()
