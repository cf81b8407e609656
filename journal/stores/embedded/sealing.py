"""Seals heads: writes their rows as segments, and replaces them in one commit.

    rotate: a fresh head takes new rows    (commit section)
    write:  the old heads' rows, sorted    (nobody waits)
    swap:   the segments stand for them    (commit section)

Killed after the first step, the old heads are simply read on and sealed the next time. Heads of
different layouts become different segments, each in the columns its rows were written with.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from sqlglot import exp

from journal.local_engine import layout
from journal.local_engine.session import DuckDBSession
from journal.model.plan import Query
from journal.model.schema import Table
from journal.model.segment import Head, RowCounts, Segment, Tier
from journal.model.version import VersionType
from journal.sql.counting import count_rows
from journal.sql.relations import column, union_all
from journal.stores.embedded.journal import Journal
from journal.transactions.state import TableState

_HEADS_MAX = 8


def is_full(journal: Journal, table_id: int, rows_max: int) -> bool:
    """True when a table has more than ``rows_max`` rows in heads, or many heads; 0 means never.

    Every change of a table's columns leaves a head behind if that holds rows.
    """
    state = journal.state.tables.get(table_id)
    if state is None or not rows_max:
        return False
    return state.head_counts.total > rows_max or len(state.manifest.heads) > _HEADS_MAX


def seal(journal: Journal, table_id: int) -> tuple[Segment, ...]:
    """Seal a table's heads; the new segments, none when the heads are empty."""
    if not journal.state.tables[table_id].head_counts.total:
        return ()
    with journal.sealing_lock(table_id):
        heads = _rotate(journal, table_id)
        if not heads:
            return ()
        segments: list[Segment] = []
        try:
            state = journal.state.tables[table_id]
            with journal.reading_session() as session:
                for shape, group in by_layout(state, heads):
                    segments += _write(journal, session, shape, group)
            _swap(journal, table_id, heads, segments)
        except BaseException:
            for segment in segments:
                journal.forget_files(segment.files)
            raise
        return tuple(segments)


def by_layout(state: TableState, heads: Sequence[Head]) -> Iterator[tuple[Table, list[Head]]]:
    """Heads that become one segment each time, with the definition their rows were written with."""
    for fields, group in groupby(heads, key=lambda h: h.fields):
        yield next(t for t in state.layouts if layout.fields_of(t) == fields), list(group)


def tier_of(counts: RowCounts) -> Tier:
    """The tier of a segment that holds what was in heads."""
    only_open = counts.closing == 0 and counts.tombstone == 0
    return Tier.BASE if only_open else Tier.DELTA


def _rotate(journal: Journal, table_id: int) -> tuple[Head, ...]:
    """Let a fresh head take new rows; the heads before it, oldest first."""
    with journal.exclusive_session() as session:
        held = journal.state.tables[table_id]
        # A dropped table may come back, and may hold rows that must be erased.
        table = journal.state.catalog.by_id(table_id) or held.layouts[-1]
        if not held.head_counts.total:
            return ()
        heads = held.manifest.heads

        def rotated(state: TableState) -> TableState:
            manifest = state.manifest.with_head(layout.fields_of(table))
            layout.create_head(session, table, manifest.heads[-1])
            return replace(state, manifest=manifest)

        journal.swap(session, table_id, rotated)
        return heads


def _write(
    journal: Journal, session: DuckDBSession, table: Table, heads: Sequence[Head]
) -> list[Segment]:
    """The segment of some heads of one layout; empty when they hold no row."""

    def rows() -> exp.Query:
        return union_all([layout.head_rows(table, head) for head in heads])

    counts = count_rows(session, table, rows().subquery("h"))
    if not counts.total:
        return []
    order = [*table.key, table.format.version_column]
    ordered = exp.select("*").from_(rows().subquery("h"))
    ordered = ordered.order_by(*[column(name) for name in order])
    versions = versions_of(session, table, rows())
    sealed = layout.segment_query(table, ordered)
    files = journal.warehouse.write_segment(session, table, sealed, {})
    journal.staged.update(f.path for f in files)
    name = journal.warehouse.segment_id(files[0].path)
    return [Segment.of_changes(name, files, layout.fields_of(table), counts, versions)]


def versions_of(session: DuckDBSession, table: Table, rows: exp.Query) -> tuple[int, int]:
    """Lowest and highest version at which these rows were written."""
    start, end = column(table.format.version_column), column(table.format.subsequent_column)
    written = exp.Coalesce(this=end, expressions=[start])
    outputs: list[exp.Expr] = [exp.Min(this=written), exp.Max(this=written.copy())]
    if table.format.version_type is VersionType.TIMESTAMP:
        outputs = [exp.Anonymous(this="epoch_us", expressions=[o]) for o in outputs]
    low, high = session.row(Query(exp.select(*outputs).from_(rows.subquery("v")), ()), {})
    return int(low), int(high)


def _swap(
    journal: Journal, table_id: int, heads: tuple[Head, ...], segments: Sequence[Segment]
) -> None:
    sealed = sum((s.counts for s in segments), RowCounts()).times(-1)
    with journal.exclusive_session() as session:

        def swapped(state: TableState) -> TableState:
            manifest = state.manifest.sealed(heads, segments)
            return replace(state, manifest=manifest, head_counts=state.head_counts + sealed)

        journal.swap(session, table_id, swapped, dropped=heads)
    for file in (f for s in segments for f in s.files):
        journal.staged.discard(file.path)
        journal.checker.trust(file)
