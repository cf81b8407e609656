"""Whether a store is in safe mode: rows of when it began and ended, and the check for it."""

from __future__ import annotations

from dataclasses import astuple
from datetime import datetime

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.store_session import RecordSession
from journal.records.governance_tables import SAFE_MODE
from journal.records.statements import execute, insert, newest

_ADD, _NEWEST = insert(SAFE_MODE), newest(SAFE_MODE, "seq")


@dataclass(frozen=True, slots=True)
class SafeModeRow:
    """Since when safe mode is on or off, who said so, and why."""

    seq: int
    is_on: bool
    changed_at: datetime
    user_name: str
    reason: str


def safe_mode_now(session: RecordSession) -> SafeModeRow | None:
    """The last change of safe mode; None in a store that never was in it."""
    rows = execute(session, _NEWEST)
    return SafeModeRow(*rows[0]) if rows else None


def add_safe_mode(session: RecordSession, row: SafeModeRow) -> None:
    """Let safe mode begin or end, in the session's transaction, which holds the commit lock."""
    execute(session, _ADD, list(astuple(row)))


def check_not_safe(session: RecordSession, action: str) -> None:
    """Raise SAFE_MODE if the store is in safe mode; ``action`` says what it refuses: "to submit".

    Called in the transaction of the action, it holds also where safe mode begins meanwhile.
    """
    found = safe_mode_now(session)
    if found is not None and found.is_on:
        why = f" ({found.reason})" if found.reason else ""
        raise PalimpsestError(
            Code.SAFE_MODE,
            f"safe mode refuses {action}: {found.user_name} began it at"
            f" {found.changed_at:%Y-%m-%d %H:%M:%S} UTC{why}",
            advice="wait until an administrator ends it: palimpsest safe-mode off",
        )
