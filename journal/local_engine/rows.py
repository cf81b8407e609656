"""Row sets of a transaction, shown to queries in a table's present columns and types.

Rows may have been buffered under an earlier layout of their table, or written to files in the types
that survive Parquet; here they are given the columns that readers of the table expect. Decides
nothing about which rows are visible.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from sqlglot import exp

from journal.local_engine.layout import (
    buffered_rows,
    fields_of,
    has_odd_types,
    segment_rows,
)
from journal.local_engine.session import DuckDBSession
from journal.model.plan import Query
from journal.model.schema import Table
from journal.model.store_session import MemoryRows, RowSet, StagedRows
from journal.sql.held_rows import combine_rows
from journal.sql.relations import union_all


def show_rows(session: DuckDBSession, table: Table, name: str, sets: Sequence[RowSet]) -> None:
    """Let queries of the session's transaction read row sets of ``table`` as relation ``name``."""
    fields = fields_of(table)
    memory = [r for r in sets if isinstance(r, MemoryRows)]
    plain = all(r.fields in {(), fields} for r in memory) and not has_odd_types(table)
    if len(memory) == len(sets) and plain:
        session.show_arrow(name, combine_rows(memory))
        return
    pieces: list[exp.Query] = []
    for index, (written, group) in enumerate(groupby(memory, key=lambda r: r.fields or fields)):
        part = f"{name}_{index}"
        session.show_arrow(part, combine_rows(list(group)))
        pieces.append(buffered_rows(table, exp.to_table(part), written))
    for staged in (r for r in sets if isinstance(r, StagedRows)):
        files = [f.path for f in staged.files]
        pieces.append(segment_rows(table, files, staged.fields, session.root))
    view = exp.Create(
        this=exp.to_table(name),
        kind="VIEW",
        replace=True,
        properties=exp.Properties(expressions=[exp.TemporaryProperty()]),
        expression=union_all(pieces),
    )
    session.execute(Query(view, ()), {})
