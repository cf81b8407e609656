"""How journals lie in the file: a table for each head and segment; tiers are queries over them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlglot import exp

from journal.model.schema import Table
from journal.model.segment import Fields, Head, Manifest, RowCounts, Segment, Tier
from journal.model.store_session import MemoryRows, RowSet
from journal.sql.relations import column, ident, union_all
from journal.sql.row_layout import fields_of, rows_in_layout
from journal.transactions.state import JournalState
from journal.transactions.transaction import Transaction
from tests.contract.toy_store.session import SqliteSession

_TIER = re.compile(r"t(\d+)(?:x(\d+))?_(base|delta|history|head)$")


def head_name(table_id: int, head: Head) -> str:
    """The table behind a head."""
    return f"t{table_id}_head_{head.generation}"


def journal_columns(table: Table, fields: Fields) -> list[tuple[str, str]]:
    """The columns of rows that were written as ``fields``, with both versions."""
    ends = (table.format.version_column, table.format.subsequent_column)
    return [*fields, *((name, "BIGINT") for name in ends)]


def rows_of(name: str) -> exp.Table:
    """A table of rows, which may be as temporary as its name."""
    return exp.Table(this=ident(name))


def pieces(table_id: int, manifest: Manifest, tier: Tier) -> list[tuple[str, Fields]]:
    """The tables of a tier, and the columns they were written in."""
    if tier is Tier.HEAD:
        return [(head_name(table_id, h), h.fields) for h in manifest.heads]
    return [(s.id, s.fields) for s in manifest.in_tier(tier)]


def tier_rows(committed: JournalState, transaction: Transaction, name: str) -> exp.Query | None:
    """What a tier holds, in one of the layouts of its table; None for another relation."""
    found = _TIER.match(name)
    if found is None:
        return None
    table_id, layout, tier = int(found[1]), int(found[2] or 0), Tier(found[3])
    state, own = committed.tables[table_id], transaction.catalog.by_id(table_id)
    shapes = [*state.layouts, *([own] if own is not None else [])]
    shape = next(t for t in shapes if t.layout == layout)
    parts = pieces(table_id, state.seen_by(shape), tier)
    return union_all([rows_in_layout(shape, rows_of(n), fields) for n, fields in parts])


def show_rows(session: SqliteSession, table: Table, name: str, sets: Sequence[RowSet]) -> None:
    """Let queries of a transaction read rows that it has written as a relation."""
    parts: list[exp.Query] = []
    for number, rows in enumerate(sets):
        assert isinstance(rows, MemoryRows), "this store keeps all rows in memory"
        part, fields = f"{name}_{number}", rows.fields or fields_of(table)
        session.make("TEMP TABLE", part, journal_columns(table, fields))
        session.fill(part, rows.rows)
        parts.append(rows_in_layout(table, rows_of(part), fields))
    session.show_view(name, union_all(parts))


def insert(
    session: SqliteSession, table: Table, fields: Fields, name: str, rows: exp.Query
) -> None:
    """Add the rows of a query, which has the columns in whatever order."""
    columns = [column(c) for c, _ in journal_columns(table, fields)]
    ordered = exp.select(*columns).from_(rows.subquery("w"))
    session.run(exp.insert(ordered, rows_of(name)))


def count_rows(session: SqliteSession, table: Table, source: exp.Expr) -> RowCounts:
    """Rows of each kind in a relation with rows of a journal."""
    start, end = column(table.format.version_column), column(table.format.subsequent_column)
    kinds = (exp.Is(this=end, expression=exp.Null()), exp.EQ(this=end.copy(), expression=start))
    counts = [exp.Count(this=exp.Case().when(k, "1")) for k in kinds]
    query = exp.select(exp.Count(this=exp.Star()), *counts).from_(source)
    ((total, opens, tombstones),) = session.run(query)
    return RowCounts(opens, total - opens - tombstones, tombstones)


def fingerprint(session: SqliteSession, rows: exp.Query) -> tuple[int, int]:
    """How many rows, and the sum of their hashes."""
    values = [column(name) for name in rows.named_selects]
    hashed = exp.Sum(this=exp.Anonymous(this="row_hash", expressions=values))
    total = exp.Coalesce(this=hashed, expressions=[exp.Literal.number(0)])
    query = exp.select(exp.Count(this=exp.Star()), total).from_(rows.subquery("f"))
    ((count, summed),) = session.run(query)
    return count, summed


def segment_rows(segment: Segment, table: Table) -> exp.Select:
    """The rows of a segment, or of a head, in the columns they were written in."""
    outputs = [column(name, "p") for name, _ in journal_columns(table, segment.fields)]
    return exp.select(*outputs).from_(exp.alias_(rows_of(segment.id), "p", table=True))
