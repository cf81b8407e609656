"""Rows of a transaction on their way: read as text, held in memory, shown to queries again.

Values travel as the server's own text, so that every type comes back as it was; versions travel as
numbers. Many rows stay on the server, in a table that no manifest lists until they are committed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from sqlglot import exp

from journal.model.plan import STORE_SCHEMA, Query
from journal.model.schema import Table
from journal.model.segment import Fields, SegmentFile
from journal.model.store_session import MemoryRows, Parameters, RowSet, StagedRows
from journal.model.version import VersionType
from journal.sql.relations import column, ident, union_all
from journal.sql.row_layout import fields_of, rows_in_layout
from journal.stores.postgres.layout import count_rows, spread
from journal.stores.postgres.store import PostgresSession, Shown
from journal.stores.postgres.text import Text, rendered
from journal.stores.postgres.types import column_type

_INSTANT = "(TIMESTAMPTZ '1970-01-01 00:00:00+00' + {} * INTERVAL '1 microsecond')"


def held_query(table: Table, query: Query, rows_max: int | None) -> Query:
    """The rows of a query as text and version numbers, one more than may be held."""

    def held() -> Query:
        assert isinstance(query.ast, exp.Query)
        rows = as_texts(table, fields_of(table), query.ast.copy())
        return Query(rows if rows_max is None else rows.limit(rows_max + 1), query.parameters)

    return query.once(f"held {rows_max}", held)


def as_texts(table: Table, fields: Fields, query: exp.Query) -> exp.Select:
    """Journal rows in some columns as text, and their versions as numbers."""
    outputs: list[exp.Expr] = [
        exp.alias_(exp.cast(column(name, "r"), "TEXT"), ident(name)) for name, _ in fields
    ]
    for name in _ends(table):
        outputs.append(exp.alias_(_number(table, column(name, "r")), ident(name)))
    return exp.select(*outputs).from_(query.subquery("r"))


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
    sql = f"CREATE UNLOGGED TABLE {rendered(target).sql} AS {text.sql}"
    sql += spread(session, table, dict(fields_of(table)))
    session.put(Text(sql, text.parameters), parameters)
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
    groups: dict[tuple[tuple[str, str], ...], list[pa.Table]] = {}
    for rows in memory:
        groups.setdefault(rows.fields or fields_of(table), []).append(rows.rows)
    if not staged and list(groups) == [fields_of(table)]:
        show_texts(
            session, table, name, fields_of(table), pa.concat_tables(groups[fields_of(table)])
        )
        return
    pieces: list[exp.Query] = []
    for index, (fields, tables) in enumerate(groups.items()):
        part = f"{name}_{index}"
        show_texts(session, table, part, fields, pa.concat_tables(tables))
        pieces.append(rows_in_layout(table, exp.to_table(part), fields))
    pieces += [rows_in_layout(table, staged_table(f), r.fields) for r in staged for f in r.files]
    session.stage(name, Query(union_all(pieces), ()), {})


def show_texts(
    session: PostgresSession,
    table: Table,
    name: str,
    fields: Sequence[tuple[str, str]],
    rows: pa.Table,
) -> None:
    """Let queries read rows that are held as text, and were written in some columns."""
    shown = [
        Shown(physical, "text", f"{{}}::{column_type(kind)}", rows.column(i).to_pylist())
        for i, (physical, kind) in enumerate(fields)
    ]
    bigint = table.format.version_type is VersionType.BIGINT
    for index, end in enumerate(_ends(table), len(fields)):
        form = "{}" if bigint else _INSTANT
        shown.append(Shown(end, "bigint", form, rows.column(index).to_pylist()))
    session.show_columns(name, shown)


def memory_rows(session: PostgresSession, table: Table) -> pa.Table:
    """What ``held_query`` has found, as columns of text and of version numbers."""
    rows = session.fetch_all()
    return in_arrow(rows, text_schema(table, fields_of(table)))


def in_arrow(rows: Sequence[Sequence[Any]], schema: pa.Schema) -> pa.Table:
    """Rows as they came from the server in columns of Arrow's."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(schema)
    arrays = [pa.array(v, f.type) for v, f in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


def _ends(table: Table) -> tuple[str, str]:
    return table.ends


def _number(table: Table, value: exp.Expr) -> exp.Expr:
    if table.format.version_type is VersionType.BIGINT:
        return value
    return exp.Anonymous(this="epoch_us", expressions=[value])
