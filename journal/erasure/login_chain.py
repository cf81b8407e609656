"""The login log, written in groups, and its digests in the audit log.

    rows of a few seconds --> logins    once a minute: digest of the new ones --> audit

A digest covers the rows since the one before, logins and refusals each by themselves, as the oldest
of each are removed in their own time. Whoever changes, adds or removes rows that a digest covers is
noticed by ``audit verify``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import astuple, replace
from typing import Any

from journal.erasure import audit
from journal.erasure.seam import SecretJournal
from journal.model.store_session import RecordSession
from journal.records.catalog_format import get_meta, put_meta
from journal.records.erasure_rows import AuditRow
from journal.records.login_rows import (
    KEPT_ROWS,
    LoginRow,
    add_logins,
    load_logins,
    newest_login,
)

ACTION = "logins.digest"
OUTCOMES = ("login", "refused")
_DIGESTED = "logins_digested"
_ACTOR = "palimpsest"


def write_logins(journal: SecretJournal, rows: Sequence[LoginRow]) -> None:
    """Add rows to the log, which get the numbers that follow."""
    with journal.exclusive_session() as session:
        start = max(newest_login(session), _digested(session)) + 1
        add_logins(session, [replace(row, seq=start + i) for i, row in enumerate(rows)])
        session.commit()


def write_digest(journal: SecretJournal) -> bool:
    """Append to the audit log the digest of rows that none covers yet; False if there are none."""
    with journal.exclusive_session() as session:
        before = _digested(session)
        rows = load_logins(session, before)
        if not rows:
            return False
        detail = {"first": before + 1, "last": rows[-1].seq, **_digests(rows)}
        audit.record(journal, session, _ACTOR, ACTION, "", detail)
        put_meta(session, _DIGESTED, str(rows[-1].seq))
        session.commit()
    return True


def login_problems(entries: Sequence[AuditRow], rows: Sequence[LoginRow]) -> Iterator[str]:
    """Where the login log is not what the digests in the audit log say."""
    following = 1
    for entry in entries:
        if entry.action != ACTION:
            continue
        detail = json.loads(entry.detail)
        first, last = detail["first"], detail["last"]
        if first != following:
            yield f"entry {entry.seq} begins with login {first}, and {following} follows"
        following = last + 1
        found = _digests([row for row in rows if first <= row.seq <= last])
        for outcome in OUTCOMES:
            if first > _removed_up_to(rows, outcome) and found[outcome] != detail[outcome]:
                yield (
                    f"the login log from {first} to {last} was changed: its rows of outcome"
                    f" {outcome} are not those of entry {entry.seq}"
                )


def _removed_up_to(rows: Sequence[LoginRow], outcome: str) -> int:
    """The number up to which rows of an outcome may have been removed, as they were too many."""
    kept = [row.seq for row in rows if row.outcome == outcome]
    return kept[0] - 1 if len(kept) >= KEPT_ROWS else 0


def _digests(rows: Sequence[LoginRow]) -> dict[str, Any]:
    """By outcome how many rows there are, and a hash over them."""
    found = {}
    for outcome in OUTCOMES:
        some = [row for row in rows if row.outcome == outcome]
        text = json.dumps([[_plain(value) for value in astuple(row)] for row in some])
        found[outcome] = [len(some), hashlib.sha256(text.encode()).hexdigest()]
    return found


def _plain(value: Any) -> Any:
    return value if isinstance(value, int | str) else value.timestamp()


def _digested(session: RecordSession) -> int:
    return int(get_meta(session, _DIGESTED) or 0)
