"""Rows of a transaction on their way: read as text, held in memory, shown to queries again.

Values travel as the server's own text, so that every type comes back as it was; versions travel as
numbers. Many rows stay on the server, in a table that no manifest lists until they are committed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from itertools import chain
from operator import eq
from typing import Any

import pyarrow as pa
from sqlglot import exp

from journal.model.plan import STORE_SCHEMA, Query
from journal.model.schema import Table
from journal.model.segment import Fields, RowCounts, SegmentFile
from journal.model.store_session import (
    MemoryRows,
    Parameters,
    RowSet,
    StagedRows,
    count_kinds,
    in_arrow,
)
from journal.model.version import Version, VersionType
from journal.sql.held_rows import shown_in_parts
from journal.sql.relations import column, ident, union_all
from journal.sql.row_layout import fields_of, rows_in_layout
from journal.stores.postgres.dialect.enums import Enums, enums_in
from journal.stores.postgres.dialect.text import Text, rendered
from journal.stores.postgres.dialect.types import column_type
from journal.stores.postgres.few_rows import FEW_ROWS_MAX, INSTANT, ColumnValues
from journal.stores.postgres.layout import count_rows, drop_rows, spread
from journal.stores.postgres.store import PostgresSession


def held_query(table: Table, query: Query, rows_max: int | None) -> Query:
    """The rows of a query as text and version numbers, one more than may be held."""

    def limited() -> Query:
        assert isinstance(query.ast, exp.Query)
        rows = as_texts(table, fields_of(table), query.ast.copy())
        return Query(rows if rows_max is None else rows.limit(rows_max + 1), query.parameters)

    return query.once(f"held {rows_max}", limited)


def as_texts(table: Table, fields: Fields, query: exp.Query) -> exp.Select:
    """Journal rows in some columns as text, and their versions as numbers."""
    outputs: list[exp.Expr] = [
        exp.alias_(exp.cast(column(name, "r"), "TEXT"), ident(name)) for name, _ in fields
    ]
    for name in _ends(table):
        outputs.append(exp.alias_(_number(table, column(name, "r")), ident(name)))
    return exp.select(*outputs).from_(query.subquery("r"))


@lru_cache(maxsize=256)
def text_schema(table: Table, fields: Fields) -> pa.Schema:
    """What such rows are in Arrow."""
    kinds = [pa.field(name, pa.string()) for name, _ in fields]
    return pa.schema([*kinds, *(pa.field(name, pa.int64()) for name in _ends(table))])


def stage_rows(
    session: PostgresSession, table: Table, query: Query, parameters: Parameters, name: str
) -> StagedRows:
    """Keep a query's rows on the server as table ``name`` of our schema."""
    target = exp.table_(name, db=STORE_SCHEMA)
    text = session.rendered(query.ast)
    start = f"CREATE UNLOGGED TABLE {rendered(target).sql} AS "
    sql = f"{start}{text.sql}{spread(session, table, dict(fields_of(table)))}"
    session.put(Text(sql, text.parameters, start=len(start)), parameters)
    counts = count_rows(session, table, target)
    file = SegmentFile(name, 0, counts.total, 0)
    return StagedRows((file,), fields_of(table), counts)


def staged_table(file: SegmentFile) -> exp.Table:
    """The table of rows that stay on the server."""
    return exp.table_(file.path, db=STORE_SCHEMA)


def show_rows(session: PostgresSession, table: Table, name: str, sets: Sequence[RowSet]) -> None:
    """Let queries of the session's transaction read row sets of ``table`` as relation ``name``."""
    memory = [r for r in sets if isinstance(r, MemoryRows)]
    staged = [r for r in sets if isinstance(r, StagedRows)]
    fields = fields_of(table)
    if memory and not staged and all(r.fields in {(), fields} for r in memory):
        session.show_values(name, columns_of(session, table, fields, values_of(memory)))
        return
    pieces = shown_in_parts(table, name, memory, partial(show_texts, session, table))
    pieces += [rows_in_layout(table, staged_table(f), r.fields) for r in staged for f in r.files]
    session.stage(name, Query(union_all(pieces), ()), {})


def show_texts(
    session: PostgresSession, table: Table, name: str, fields: Fields, rows: pa.Table
) -> None:
    """Let queries read rows that are held as text, and were written in some columns."""
    values = [column.to_pylist() for column in rows.columns]
    session.show_values(name, columns_of(session, table, fields, values))


def values_of(sets: Sequence[MemoryRows]) -> list[list[Any]]:
    """The values of rows of one layout, column by column."""
    parts = [rows.values for rows in sets]
    return [list(chain.from_iterable(columns)) for columns in zip(*parts, strict=True)]


def columns_of(
    session: PostgresSession, table: Table, fields: Fields, values: Sequence[list[Any]]
) -> list[ColumnValues]:
    """Such values as columns of a query, whose types the server has then."""
    forms, enums = _forms(table, fields)
    if enums:
        session.have_types(enums)
    return [ColumnValues(*form, held) for form, held in zip(forms, values, strict=True)]


@lru_cache(maxsize=256)
def _forms(table: Table, fields: Fields) -> tuple[tuple[tuple[str, str, str], ...], Enums]:
    """Name, type sent and output of each column, and the enums among their types."""
    shown = [(physical, "text", f"{{}}::{column_type(kind)}") for physical, kind in fields]
    bigint = table.format.version_type is VersionType.BIGINT
    shown += [(end, "bigint", "{}" if bigint else INSTANT) for end in _ends(table)]
    return tuple(shown), tuple(enum for _, kind in fields for enum in enums_in(kind))


def memory_rows(session: PostgresSession, table: Table) -> MemoryRows:
    """What ``held_query`` has found, as columns of text and of version numbers."""
    rows, fields = session.fetch_all(), fields_of(table)
    schema = text_schema(table, fields)
    if len(rows) > FEW_ROWS_MAX:
        found = in_arrow(rows, schema)
        return MemoryRows(found, count_kinds(found, table), fields)
    columns = list(zip(*rows, strict=True)) if rows else [()] * (len(fields) + 2)
    starts, ends = columns[-2:]
    tombstones = sum(map(eq, starts, ends))
    opens = ends.count(None)
    counts = RowCounts(opens, len(rows) - opens - tombstones, tombstones)
    return MemoryRows(lambda: in_arrow(rows, schema), counts, fields, columns)


def latest_ended_early(
    session: PostgresSession, table: Table, rows: RowSet | None
) -> Version | None:
    """The highest version of a row that is ended, as rows have it, before it began; None: none."""
    if isinstance(rows, MemoryRows):
        starts, ends = rows.values[-2:]
        early = (s for s, e in zip(starts, ends, strict=True) if e is not None and e < s)
        return max(early, default=None)
    found: list[Version] = []
    for file in () if rows is None else rows.files:
        start, end = map(column, _ends(table))
        latest = exp.select(_number(table, exp.Max(this=start))).from_(staged_table(file))
        latest = latest.where(exp.LT(this=end, expression=start.copy()))
        found += [v for (v,) in [session.row(Query(latest, ()), {})] if v is not None]
    return max(found, default=None)


def _ends(table: Table) -> tuple[str, str]:
    return table.ends


def _number(table: Table, value: exp.Expr) -> exp.Expr:
    if table.format.version_type is VersionType.BIGINT:
        return value
    return exp.Anonymous(this="epoch_us", expressions=[value])


def drop_staged(session: PostgresSession, older_than_us: int) -> list[str]:
    """Drop staged rows of gateways that ended without a word; their names."""
    rows = session.text(
        "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
        " WHERE n.nspname = '_palimpsest' AND c.relname LIKE 'w\\_%' AND c.relkind = 'r'"
    )
    old = [name for (name,) in rows if int(name.split("_")[1]) < older_than_us]
    for name in old:
        drop_rows(session, staged_table(SegmentFile(name, 0, 0, 0)))
    return old
