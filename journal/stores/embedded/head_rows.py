"""Rows into heads: the INSERT of rows that a query makes, or of rows that are in memory.

A few rows of a plain table go in as values, which the store takes faster than a relation that it
has to be shown first.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from sqlglot import exp

from journal.local_engine import layout
from journal.local_engine.rows import show_rows
from journal.local_engine.session import DuckDBSession
from journal.model.plan import Query
from journal.model.schema import Table
from journal.model.segment import Head
from journal.model.store_session import MemoryRows
from journal.sql.relations import column, ident, version_value
from journal.transactions import plain_rows

_INCOMING = "incoming"
_AS_VALUES_MAX = 16


def insert_into_head(
    table_id: int, head: Head, names: Sequence[str], source: exp.Expr
) -> exp.Insert:
    """An INSERT of journal rows into a head, columns named."""
    target = layout.head_table(table_id, head)
    return exp.Insert(
        this=exp.Schema(this=target, expressions=[ident(n) for n in names]), expression=source
    )


def insert_rows(
    session: DuckDBSession, table: Table, head: Head, sets: Sequence[MemoryRows]
) -> None:
    """Insert rows that are in memory into a head."""
    names = table.journal_columns
    total = sum(rows.rows.num_rows for rows in sets)
    if total <= _AS_VALUES_MAX:
        values = _values(table, sets)
        if values is not None:
            parameters = {f"v{i}": value for i, value in enumerate(values)}
            session.execute(_of_values(table, head, names, total), parameters)
            return
    show_rows(session, table, _INCOMING, sets)
    session.execute(_of_incoming(table.id, head, names), {})
    session.hide(_INCOMING)


def _values(table: Table, sets: Sequence[MemoryRows]) -> list[Any] | None:
    if not plain_rows.is_plain(table):
        return None
    found: list[Any] = []
    for rows in sets:
        given = None
        if rows.fields in {(), layout.fields_of(table)}:
            given = plain_rows.of_arrow(table, rows.rows)
        if given is None:
            return None
        for values, start, end in given:
            found += [*values, start, end]
    return found


@lru_cache(maxsize=1024)
def _of_incoming(table_id: int, head: Head, names: tuple[str, ...]) -> Query:
    rows = exp.select(*[column(n) for n in names]).from_(_INCOMING)
    return Query(insert_into_head(table_id, head, names, rows), ())


@lru_cache(maxsize=1024)
def _of_values(table: Table, head: Head, names: tuple[str, ...], rows: int) -> Query:
    tuples: list[exp.Expr] = []
    stored = len(table.stored)
    for start in range(0, rows * len(names), len(names)):
        values: list[exp.Expr] = [exp.Placeholder(this=f"v{start + i}") for i in range(len(names))]
        values[stored:] = [version_value(table, v) for v in values[stored:]]
        tuples.append(exp.Tuple(expressions=values))
    return Query.of(insert_into_head(table.id, head, names, exp.Values(expressions=tuples)))
