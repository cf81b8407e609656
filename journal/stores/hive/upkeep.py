"""What journals in Hive need besides statements: nothing by itself, checks on request."""

from __future__ import annotations

from collections.abc import Collection

from journal.model.segment import Segment
from journal.model.store_session import Progress
from journal.model.verification import Verification
from journal.stores.hive.journal import HiveJournal
from journal.stores.hive.verification import verify


class HiveUpkeep:
    """Every commit is a segment of its own, so there is nothing to seal."""

    def __init__(self, journal: HiveJournal) -> None:
        self._journal = journal

    def request(self, table_id: int, rows_max: int) -> None:
        """Nothing: there are no heads."""

    def seal(self, table_id: int) -> tuple[Segment, ...]:
        """Nothing is sealed, but the views say what is committed when this returns."""
        if self._journal.views is not None:
            _, state = self._journal.look()
            self._journal.views.refresh(state)
        return ()

    def verify(
        self, progress: Progress | None = None, only: Collection[int] | None = None
    ) -> Verification:
        """Check partitions and rows; nothing is repaired."""
        return verify(self._journal, progress, only)

    def close(self) -> None:
        """Nothing runs in the background."""
