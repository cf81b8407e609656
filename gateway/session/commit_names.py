"""Names that a client gives to what it commits, so that the same is not committed twice."""

from __future__ import annotations

from journal.records.catalog import rows_committed
from journal.transactions.protocol import OpenJournal


class CommitNames:
    """The names of the commits of one call, in the order in which they come."""

    def __init__(self, journal: OpenJournal, name: str, again: bool) -> None:
        self._journal = journal
        self._name = name
        self._again = again
        self._count = 0

    def next(self) -> str:
        """The name of the next commit."""
        name = f"{self._name}-{self._count}" if self._count else self._name
        self._count += 1
        return name

    def rows_committed(self, name: str) -> int | None:
        """How many rows were changed under a name by a call whose answer nobody heard, or None."""
        if not self._again:
            return None
        with self._journal.reading_session() as session:
            return rows_committed(session, name)
