"""Events as people and programs read them: from a number on, or the latest."""

from __future__ import annotations

from collections.abc import Mapping

from gateway.governance.acting_session import ActingSession
from gateway.session.operations import Advance, operation
from journal.model.access import DATABASE_KEY, Privilege
from journal.model.errors import Code, PalimpsestError
from journal.records.event_rows import EventRow, load_events, newest_event

MOST = 1_000
"""How many events one call gives."""


@operation
def events_after(
    session: ActingSession,
    _advance: Advance,
    after: int | None,
    most: int,
    where: Mapping[str, str] | None = None,
) -> list[EventRow]:
    """Events with a higher number than ``after``, the oldest first; None gives the latest.

    ``where`` gives values of ``name``, ``status``, ``entity_kind`` and ``entity``. Raises PRIVILEGE
    for a role that has neither MAINTAIN nor ADMIN on the system.
    """
    check_may_watch(session)
    most = max(1, min(most, MOST))
    with session.journal.reading_session() as records:
        start = max(0, newest_event(records) - most) if after is None else max(0, after)
        return load_events(records, start, most, where)


def check_may_watch(session: ActingSession) -> None:
    """Raise PRIVILEGE for a role that may not see what happens to all tables."""
    if not session.catalog.rights_of(session.settings.role).may(DATABASE_KEY, Privilege.MAINTAIN):
        raise PalimpsestError(
            Code.PRIVILEGE,
            "permission denied to read events, which tell of all entities",
            advice="it takes MAINTAIN or ADMIN ON SYSTEM",
        )
