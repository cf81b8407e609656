"""The desk of a session: who acts, the desk's policy and its records.

Nothing here decides about a request.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from datetime import datetime
from typing import TYPE_CHECKING

from gateway.governance.events import EventName, record_event
from gateway.privacy_desk.desk_policy import DeskPolicy
from gateway.procedures.erasure_program import erasure_of
from gateway.procedures.requests import actor
from journal.erasure import audit
from journal.model.access import DATABASE_KEY, Privilege
from journal.model.errors import Code, PalimpsestError
from journal.model.version import to_datetime
from journal.records import privacy_rows as rows_of
from journal.records.privacy_rows import PrivacyRequest

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gateway.session.session import Session
    from journal.erasure.seam import ErasureJournal
    from journal.model.store_session import RecordSession, StoreSession


Named = dict[str, list[tuple[str, str]]]
"""By request the type and value of each identity, and of each value that replaces another."""


class Desk:
    """The desk of a session's store; raises PRIVILEGE without ERASE, NOT_SUPPORTED without erasure.

    It opens the store's records, and writes the audit log in the name of whoever asks. ``people``
    are whom the batches name that one operation works on, decrypted; ``formed`` are the requests of
    batches that it has just made, as they were in the queue.
    """

    def __init__(self, session: Session, privilege: Privilege = Privilege.ERASE) -> None:
        rights = session.catalog.rights_of(session.settings.role)
        if not rights.may(DATABASE_KEY, privilege):
            raise PalimpsestError(
                Code.PRIVILEGE,
                "permission denied for the privacy desk",
                advice=f"it takes {privilege} ON SYSTEM",
            )
        self.session = session
        self.journal: ErasureJournal = erasure_of(session).journal
        self.by = actor(session)
        self.people: dict[str, tuple[list[PrivacyRequest], Named]] = {}
        self.formed: dict[str, list[PrivacyRequest]] = {}

    def now(self) -> datetime:
        """The time by the store's clock."""
        return to_datetime(self.journal.clock.now())

    def reading(self) -> AbstractContextManager[RecordSession]:
        """A session that reads the records."""
        return self.journal.reading_session()

    def writing(self) -> AbstractContextManager[StoreSession]:
        """A session that changes the records, and nobody else meanwhile; the caller commits."""
        return self.journal.exclusive_session()

    def note(
        self, records: RecordSession, action: str, what: str, detail: Mapping[str, Any]
    ) -> None:
        """Append an entry of the audit log, in the session's transaction."""
        audit.record(self.journal, records, self.by, f"privacy.{action}", what, detail)

    def announce(
        self, records: RecordSession, name: EventName, what: str, data: Mapping[str, Any]
    ) -> None:
        """Record an event of a request, a submission or a batch, in the session's transaction."""
        record_event(self.session, records, name, "request", what, data=data)

    def policy(self, records: RecordSession) -> tuple[int, DeskPolicy]:
        """The policy that counts, and its version; 0 for what holds as long as none was set."""
        row = rows_of.last_policy(records)
        return (
            (0, DeskPolicy()) if row is None else (row.version, DeskPolicy.of_json(row.definition))
        )


def find_request(records: RecordSession, wanted: str) -> PrivacyRequest:
    """The request of an id, of the beginning of one, or of an external id.

    Raises UNKNOWN_PRIVACY_REQUEST unless there is exactly one.
    """
    exact = rows_of.request_by_id(records, wanted)
    if exact is not None:
        return exact
    known = rows_of.all_requests(records)
    found = [r for r in known if wanted and (r.id.startswith(wanted) or r.external_id == wanted)]
    if len(found) != 1:
        raise PalimpsestError(
            Code.UNKNOWN_PRIVACY_REQUEST,
            f"{'no request' if not found else 'more than one request'} is known as {wanted}",
            advice="palimpsest privacy list shows them",
        )
    return found[0]
