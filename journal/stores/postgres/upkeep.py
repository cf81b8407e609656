"""What a database's journals need besides statements: nothing by itself, checks on request."""

from __future__ import annotations

from collections.abc import Collection

from journal.model.segment import Segment
from journal.model.store_session import Progress
from journal.model.verification import Verification
from journal.stores.postgres.journal import DatabaseJournal
from journal.stores.postgres.verification import verify


class DatabaseUpkeep:
    """Heads of a database are tables like its segments, so there is nothing to seal."""

    def __init__(self, journal: DatabaseJournal) -> None:
        self._journal = journal

    def request(self, table_id: int, rows_max: int) -> None:
        """A head of a database may grow."""

    def seal(self, table_id: int) -> tuple[Segment, ...]:
        """Nothing is sealed; rows are as durable and as quick to read where they are."""
        return ()

    def verify(
        self, progress: Progress | None = None, only: Collection[int] | None = None
    ) -> Verification:
        """Check tables and rows; nothing is repaired."""
        return verify(self._journal, progress, only)

    def close(self) -> None:
        """Nothing runs in the background."""
