"""Decides who administers a store: whoever runs it, and roles with ADMIN. Writes nothing."""

from __future__ import annotations

from gateway.governance.acting_session import ActingSession
from journal.model.errors import Code, PalimpsestError


def is_administrator(session: ActingSession) -> bool:
    """Whether a session has no role, as that of whoever runs the store, or one with ADMIN."""
    return session.catalog.rights_of(session.settings.role).is_admin


def check_administrator(session: ActingSession, what: str) -> None:
    """Raise PRIVILEGE unless an administrator asks; ``what`` says for what: "to end safe mode"."""
    if not is_administrator(session):
        raise PalimpsestError(
            Code.PRIVILEGE,
            f"permission denied {what}",
            advice="it takes ADMIN ON SYSTEM; whoever runs the store has it",
        )
