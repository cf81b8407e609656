"""The committed rows of a journal that its catalog holds until a flush makes a segment of them.

Immutable: every function returns another value, so a state that a transaction reads keeps its rows
whatever is flushed meanwhile. Small commits are put together in pieces. Knows nothing of where the
rows are kept.
"""

from __future__ import annotations

from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Table
from journal.model.segment import RowCounts
from journal.model.store_session import MemoryRows
from journal.model.version import Version
from journal.transactions.pieces import add_piece, newest_row
from journal.transactions.plain_rows import Key, Row


@dataclass(frozen=True, slots=True, eq=False)
class InlinedRows:
    """Rows of commits after which nothing else was appended to their journal.

    ``first`` is the lowest version at which one of them was written, ``oldest`` and ``last`` are
    those of the first and the last commit. All have the columns that their table has now.
    """

    pieces: tuple[MemoryRows, ...] = ()
    first: Version = 0
    oldest: Version = 0
    last: Version = 0

    def __bool__(self) -> bool:
        return bool(self.pieces)

    @property
    def counts(self) -> RowCounts:
        """How many rows of each kind there are."""
        return sum((p.counts for p in self.pieces), RowCounts())

    def appended(self, rows: MemoryRows, first: Version, last: Version) -> InlinedRows:
        """These and the rows of a later commit, whose statements had these versions."""
        pieces = list(self.pieces)
        add_piece(pieces, rows)
        begun = (self.first, self.oldest) if self else (first, last)
        return InlinedRows(tuple(pieces), *begun, last)

    def newest(self, table: Table, key: Key) -> Row | None:
        """What the newest of these rows with a key shows; None if there is none.

        Raises KeyError where that is not known.
        """
        return newest_row(table, self.pieces, key)


NOTHING_INLINED = InlinedRows()
