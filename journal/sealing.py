"""Sealing a head: its rows become a segment, the head is gone, no answer changes.

    rotate: a fresh head takes new rows    (commit section)
    write:  the old heads' rows, sorted    (nobody waits)
    swap:   the segment stands for them    (commit section)

Killed after the first step, the old heads are simply read on and sealed the next time.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from journal.journal import Journal
from journal.plan import Query
from journal.relations import column, union_all, version_type
from journal.schema import Table
from journal.segment import Head, RowCounts, Segment, SegmentFile, Tier
from journal.state import TableState
from journal.stores import duckdb_layout as layout
from journal.stores.duckdb import DuckDBSession
from journal.version import VersionType


def seal_if_full(journal: Journal, table_id: int, rows_max: int) -> Segment | None:
    """Seal a table's heads when they hold more than ``rows_max`` rows; 0 means never."""
    state = journal.state.tables.get(table_id)
    if state is None or not rows_max or state.head_counts.total <= rows_max:
        return None
    return seal(journal, table_id)


def seal(journal: Journal, table_id: int) -> Segment | None:
    """Seal a table's heads into one segment; None when they are empty."""
    with journal.sealing_lock(table_id):
        table = journal.state.catalog.by_id(table_id)
        if table is None or not journal.state.tables[table_id].head_counts.total:
            return None
        heads = _rotate(journal, table)
        with journal.reading_session() as session:
            segment = _write(journal, session, table, heads)
        try:
            return _swap(journal, table, heads, segment)
        except BaseException:
            journal.forget_files(segment.files)
            raise


def _rotate(journal: Journal, table: Table) -> tuple[Head, ...]:
    with journal.exclusive_session() as session:
        heads = journal.state.tables[table.id].manifest.heads

        def rotated(state: TableState) -> TableState:
            manifest = state.manifest.with_head(layout.fields_of(table))
            layout.create_head(session, table, manifest.heads[-1])
            return replace(state, manifest=manifest)

        journal.swap(session, table.id, rotated)
        return heads


def _write(
    journal: Journal, session: DuckDBSession, table: Table, heads: tuple[Head, ...]
) -> Segment:
    pieces = [layout.head_rows(table, head) for head in heads]
    order = [*table.key, table.format.version_column]
    rows = exp.select("*").from_(union_all(pieces).subquery("h"))
    rows = rows.order_by(*[column(name) for name in order])
    counts = layout.count_rows(session, table, union_all(pieces).subquery("h"))
    low, high = _versions(session, table, union_all(pieces))
    files = journal.warehouse.write_segment(session, table, layout.segment_query(table, rows), {})
    journal.staged.update(f.path for f in files)
    return _segment(journal, table, files, counts, low, high)


def _segment(
    journal: Journal,
    table: Table,
    files: tuple[SegmentFile, ...],
    counts: RowCounts,
    low: int,
    high: int,
) -> Segment:
    only_open = counts.closing == 0 and counts.tombstone == 0
    return Segment(
        id=journal.warehouse.segment_id(files[0].path),
        tier=Tier.BASE if only_open else Tier.DELTA,
        files=files,
        fields=layout.fields_of(table),
        counts=counts,
        min_version=low,
        max_version=high,
    )


def _versions(session: DuckDBSession, table: Table, rows: exp.Query) -> tuple[int, int]:
    """Lowest and highest version in these rows."""
    start, end = column(table.format.version_column), column(table.format.subsequent_column)
    latest = exp.Coalesce(this=end, expressions=[start.copy()])
    outputs: list[exp.Expr] = [exp.Min(this=start), exp.Max(this=latest)]
    if table.format.version_type is VersionType.TIMESTAMP:
        outputs = [exp.Anonymous(this="epoch_us", expressions=[o]) for o in outputs]
    assert version_type(table)
    session.execute(Query(exp.select(*outputs).from_(rows.subquery("v")), ()), {})
    low, high = session.fetch_many(1)[0]
    return int(low), int(high)


def _swap(journal: Journal, table: Table, heads: tuple[Head, ...], segment: Segment) -> Segment:
    with journal.exclusive_session() as session:

        def swapped(state: TableState) -> TableState:
            left = RowCounts(
                state.head_counts.open - segment.counts.open,
                state.head_counts.closing - segment.counts.closing,
                state.head_counts.tombstone - segment.counts.tombstone,
            )
            return replace(state, manifest=state.manifest.sealed(heads, segment), head_counts=left)

        journal.swap(session, table.id, swapped, dropped=heads)
    for file in segment.files:
        journal.staged.discard(file.path)
        journal.checker.trust(file)
    return segment
