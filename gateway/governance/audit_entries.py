"""Entries of the audit log for what is done to entities, instances and safe mode."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from gateway.governance.acting_session import ActingSession
from journal.erasure import audit
from journal.model.store_session import RecordSession
from journal.model.system_user import system_user

if TYPE_CHECKING:
    from journal.erasure.seam import SecretJournal


def enter_audit(
    session: ActingSession,
    records: RecordSession,
    action: str,
    what: str,
    detail: Mapping[str, Any],
) -> None:
    """Add an entry in the transaction of ``records``, which holds the commit lock.

    A store without access control has no audit log. The entry names who acts and, where that is
    another, who logged in for them.
    """
    if session.journal.capabilities.access_control:
        journal = cast("SecretJournal", session.journal)
        by = session.recorded_user or system_user()
        audit.record(journal, records, by, action, what, detail)
