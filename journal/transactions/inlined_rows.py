"""The committed rows of a journal that its catalog holds until a flush makes a segment of them.

Immutable: every function returns another value, so a state that a transaction reads keeps its rows
whatever is flushed meanwhile. Pieces of about equal size are put together, so that a thousand
commits are about ten pieces. Knows nothing of where the rows are kept.
"""

from __future__ import annotations

from journal.local_engine.rows import combine_rows
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Table
from journal.model.segment import RowCounts
from journal.model.store_session import MemoryRows
from journal.model.version import Version
from journal.transactions.plain_rows import KEYED_ROWS_MAX, Key, Row, keyed_rows


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
        pieces = [*self.pieces, rows]
        while len(pieces) > 1:
            before, after = pieces[-2].counts.total, pieces[-1].counts.total
            if before > after or before + after > KEYED_ROWS_MAX:
                break
            pieces[-2:] = [_joined(pieces[-2], pieces[-1])]
        begun = (self.first, self.oldest) if self else (first, last)
        return InlinedRows(tuple(pieces), *begun, last)

    def newest(self, table: Table, key: Key) -> Row | None:
        """What the newest of these rows with a key shows; None if there is none.

        Raises KeyError where that is not known.
        """
        for piece in reversed(self.pieces):
            rows = keyed_rows(table, piece)
            if rows is None:
                raise KeyError(key)
            if key in rows:
                return rows[key]
        return None


NOTHING_INLINED = InlinedRows()


def _joined(one: MemoryRows, other: MemoryRows) -> MemoryRows:
    rows = combine_rows([one, other]).combine_chunks()
    return MemoryRows(rows, one.counts + other.counts, one.fields)
