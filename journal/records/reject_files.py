"""Reject files: which there are, where they lie, and until when. On record before they have rows.

So an erasure knows every one of them. What lies in a file is ``journal.files.rejected_rows``.
"""

from __future__ import annotations

from dataclasses import astuple
from datetime import datetime

from journal.model.lazy_dataclass import dataclass
from journal.model.store_session import RecordSession
from journal.records.schema import REJECT_FILES
from journal.records.statements import by, delete, execute, insert, select, update

_ADD = insert(REJECT_FILES)
_LOAD = select(REJECT_FILES, order=["made_at", "id"])
_DROP = delete(REJECT_FILES, by("id"))
_COUNT = update(REJECT_FILES, ["rows"], by("id"))


@dataclass(frozen=True, slots=True)
class RejectFile:
    """One file: ``rows`` of ``source`` that were not loaded into a table; ``host`` has it."""

    id: str
    table_id: int
    table_name: str
    source: str
    host: str
    path: str
    rows: int
    made_by: str | None
    made_at: datetime
    expires_at: datetime

    def is_over(self, now: datetime) -> bool:
        """True if it has expired by then."""
        return self.expires_at <= now


def add(session: RecordSession, file: RejectFile) -> None:
    """Put a file on record, in the session's transaction."""
    execute(session, _ADD, list(astuple(file)))


def load(session: RecordSession) -> list[RejectFile]:
    """All files on record, oldest first."""
    return [RejectFile(*row) for row in execute(session, _LOAD)]


def drop(session: RecordSession, file_id: str) -> None:
    """Forget a file that is gone."""
    execute(session, _DROP, [file_id])


def put_rows(session: RecordSession, file_id: str, rows: int) -> None:
    """Note how many rows a file has left."""
    execute(session, _COUNT, [rows, file_id])
