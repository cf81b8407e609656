"""Safe mode: the store takes no new orders; reading, suspending and killing go on.

It is for the time in which warehouses are moved or upgraded. What was ordered before goes on: jobs
of policies, instances that run, purges of requests that were accepted. It lies in the records, so
that it outlasts restarts and holds for all programs on the store; only an administrator ends it.
"""

from __future__ import annotations

from gateway.governance.acting_session import ActingSession
from gateway.governance.administration import check_administrator
from gateway.governance.audit_entries import enter_audit
from gateway.governance.events import EventName, record_event
from gateway.session.operations import Advance, operation
from journal.model.system_user import system_user
from journal.model.version import to_datetime
from journal.records.safe_mode_rows import (
    SafeModeRow,
    add_safe_mode,
    check_not_safe,
    safe_mode_now,
)

__all__ = [
    "begin_safe_mode",
    "change_safe_mode",
    "check_not_safe",
    "current_safe_mode",
    "end_safe_mode",
    "refuse_if_safe",
]


@operation
def current_safe_mode(session: ActingSession, _advance: Advance) -> SafeModeRow | None:
    """The last change of safe mode; None in a store that never was in it."""
    with session.journal.reading_session() as records:
        return safe_mode_now(records)


@operation
def begin_safe_mode(session: ActingSession, _advance: Advance, reason: str) -> SafeModeRow | None:
    """Begin safe mode; a repeat changes nothing. Raises PRIVILEGE unless an administrator asks."""
    return change_safe_mode(session, is_on=True, reason=reason)


@operation
def end_safe_mode(session: ActingSession, _advance: Advance) -> SafeModeRow | None:
    """End safe mode; a repeat changes nothing. Raises PRIVILEGE unless an administrator asks."""
    return change_safe_mode(session, is_on=False, reason="")


def refuse_if_safe(session: ActingSession, action: str) -> None:
    """Raise SAFE_MODE before work begins whose own transaction comes later; see check_not_safe."""
    with session.journal.reading_session() as records:
        check_not_safe(records, action)


def change_safe_mode(session: ActingSession, *, is_on: bool, reason: str) -> SafeModeRow | None:
    """Begin or end safe mode, unless it is so already."""
    check_administrator(session, "to begin safe mode" if is_on else "to end safe mode")
    with session.journal.exclusive_session() as records:
        last = safe_mode_now(records)
        if (last is not None and last.is_on) == is_on:
            return last
        row = SafeModeRow(
            1 if last is None else last.seq + 1,
            is_on,
            to_datetime(session.journal.clock.now()),
            session.recorded_user or system_user(),
            reason,
        )
        add_safe_mode(records, row)
        name = EventName.SAFE_MODE_ON if is_on else EventName.SAFE_MODE_OFF
        record_event(session, records, name, None, None, data={"reason": reason})
        enter_audit(session, records, name.value, "store", {"reason": reason})
        records.commit()
    return row
