"""Heads as the segments that sealing would make of them, for plans: a dry run seals nothing.

Rows, kinds, versions and key bounds are counted; the size of the files, which are not there, is
estimated. Changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from journal.local_engine import layout
from journal.local_engine.session import DuckDBSession
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import Query
from journal.model.schema import Table
from journal.model.segment import Head, RowCounts, Segment, SegmentFile
from journal.model.version import Version
from journal.sql.counting import count_rows
from journal.sql.relations import column, union_all, version_value
from journal.stores.embedded.sealing import by_layout, tier_of, versions_of
from journal.stores.embedded.warehouse import ROWS_PER_FILE, bounded_key
from journal.transactions.state import TableState

_BYTES_PER_VALUE = 8
"""What a value takes in a file, where no file of the table says it better."""


@dataclass(frozen=True, slots=True)
class Unsealed:
    """Heads of one layout up to a version, and the segment that they would become."""

    table: Table
    heads: tuple[Head, ...]
    settled: Version
    segment: Segment

    @property
    def is_one_file(self) -> bool:
        """True if the segment will certainly have one file, as this one has."""
        return self.segment.counts.total <= ROWS_PER_FILE

    def rows(self, shape: Table | None = None) -> exp.Query:
        """The rows, in the columns of their layout or of another definition of the table."""
        return _rows(shape or self.table, self.heads, self.settled)


def unsealed(session: DuckDBSession, state: TableState, settled: Version) -> list[Unsealed]:
    """What a table's heads hold up to version ``settled``; [] where all of it is sealed.

    Hold the table's sealing lock: heads that are sealed meanwhile cannot be read.
    """
    if not state.head_counts.total:
        return []
    found: list[Unsealed] = []
    for shape, heads in by_layout(state, state.manifest.heads):
        rows = _rows(shape, heads, settled)
        counts = count_rows(session, shape, rows.subquery("h"))
        if counts.total:
            segment = _segment(session, state, shape, heads, rows, counts)
            found.append(Unsealed(shape, tuple(heads), settled, segment))
    return found


def with_unsealed(state: TableState, found: Sequence[Unsealed]) -> tuple[Segment, ...]:
    """The segments of a table as they will be when its heads are sealed."""
    return (*state.manifest.segments, *(u.segment for u in found))


def _rows(table: Table, heads: Sequence[Head], settled: Version) -> exp.Query:
    start, end = column(table.format.version_column), column(table.format.subsequent_column)
    written = exp.Coalesce(this=end, expressions=[start])
    until = version_value(table, exp.Literal.number(settled))
    rows = exp.select("*").from_(union_all([layout.head_rows(table, h) for h in heads]).subquery())
    return rows.where(exp.LTE(this=written, expression=until))


def _segment(
    session: DuckDBSession,
    state: TableState,
    table: Table,
    heads: Sequence[Head],
    rows: exp.Query,
    counts: RowCounts,
) -> Segment:
    name = "head " + ", ".join(str(h.generation) for h in heads)
    low, high = _key_bounds(session, table, rows)
    size = _bytes_per_row(state, table) * counts.total
    file = SegmentFile(name, size, counts.total, 0, low, high)
    fields = layout.fields_of(table)
    oldest, newest = versions_of(session, table, rows)
    return Segment(name, tier_of(counts), (file,), fields, counts, oldest, newest)


def _key_bounds(
    session: DuckDBSession, table: Table, rows: exp.Query
) -> tuple[int, int] | tuple[None, None]:
    key = bounded_key(table)
    if key is None:
        return None, None
    bounds = [exp.Min(this=column(key)), exp.Max(this=column(key))]
    low, high = session.row(Query(exp.select(*bounds).from_(rows.subquery("h")), ()), {})
    return low, high


def _bytes_per_row(state: TableState, table: Table) -> int:
    segments = state.manifest.segments
    rows = sum(s.counts.total for s in segments)
    if not rows:
        return _BYTES_PER_VALUE * (len(table.stored) + 2)
    return max(1, sum(s.bytes for s in segments) // rows)
