"""The tables of a journal that are searched for people, counted and followed.

Heads, segments, tables that only backups list, and an adopted journal in every set of columns it
had. Reads only.
"""

from __future__ import annotations

from sqlglot import exp

from journal.erasure.erasure_spec import Subjects, TargetTable
from journal.erasure.matching import Matcher
from journal.model.schema import Table
from journal.model.segment import Fields
from journal.model.version import Version
from journal.sql.relations import column, version_value
from journal.sql.relations_flat import is_flat
from journal.sql.row_layout import fields_of
from journal.stores.postgres import flat, layout, pieces
from journal.stores.postgres.store import PostgresSession
from journal.transactions.state import TableState
from spark_compaction.erasure.search import Search, Tally


def rows_written(table: Table, state: TableState) -> list[tuple[exp.Expr, Fields]]:
    """All relations of a journal's rows, and the columns they were written in.

    An adopted journal is looked at in every set of columns it had.
    """
    shapes = state.layouts if is_flat(table) else ()
    found: list[tuple[exp.Expr, Fields]] = [
        (rows.subquery(copy=False), fields_of(shape))
        for shape in shapes
        for rows in flat.rows_of_tiers(shape).values()
    ]
    return [*found, *tables_of(table, state)]


def tables_of(table: Table, state: TableState) -> list[tuple[exp.Table, Fields]]:
    """The tables of our own that hold rows of a journal."""
    manifest = state.manifest
    heads = [(layout.head_table(table.id, h), h.fields) for h in manifest.heads]
    segments = flat.moved_segments(manifest)
    return [*heads, *((layout.segment_table(s), s.fields) for s in segments)]


def volume(session: PostgresSession, table: Table, state: TableState) -> Tally:
    """The tables that hold rows of a journal, which are all searched."""
    found = Tally()
    for one, _ in tables_of(table, state):
        found.count(pieces.size(session, one))
    if is_flat(table):
        found.count(pieces.size(session, flat.journal_table(table)))
    return found


def search_rows(
    session: PostgresSession,
    aim: TargetTable,
    state: TableState,
    subjects: Subjects,
    search: Search,
) -> None:
    """Add the keys of rows in which somebody is named: of new tables, and new rows of known ones.

    An adopted journal is read as a whole each time, since others write to it without a version.
    """
    table = aim.table
    matcher = Matcher(session, table, aim.identities, subjects, keys=search.keys)
    for source, fields in rows_written(table, state):
        name = source.name if isinstance(source, exp.Table) else ""
        if name in search.seen and not is_flat(table):
            assert search.version is not None
            if search.version == state.last_version:
                continue
            source = written_after(table, source, search.version)
        matcher.rows(source, fields)
        search.seen.add(name)


def written_after(table: Table, source: exp.Expr, last: Version) -> exp.Subquery:
    """Those rows of a relation that were written, or ended, after a version."""
    start, end = table.format.version_column, table.format.subsequent_column
    written = exp.Coalesce(this=column(end), expressions=[column(start)])
    limit = version_value(table, exp.Literal.number(last))
    later = exp.GT(this=written, expression=limit)
    return exp.select("*").from_(source).where(later).subquery(copy=False)
