"""Rows of a journal, counted by kind or compared, in whatever session reads them."""

from __future__ import annotations

from typing import Any, Protocol

from sqlglot import exp

from journal.model.plan import Query
from journal.model.schema import Table
from journal.model.segment import RowCounts
from journal.model.store_session import Parameters
from journal.sql.row_layout import counted_kinds, row_counts

Fingerprint = tuple[int, int]
"""How many rows, and the sum of their hashes, which tells nothing of their order."""


class RowReader(Protocol):
    """A session that reads the one row of a query."""

    def row(self, query: Query, parameters: Parameters) -> tuple[Any, ...]:
        """The single row of a query, which is finished then."""


def count_rows(session: RowReader, table: Table, source: exp.Expr) -> RowCounts:
    """Rows of each kind in a relation that holds rows of a table's journal."""
    query = exp.select(*counted_kinds(table)).from_(source)
    return row_counts(session.row(Query(query, ()), {}))


def hashed_rows(session: RowReader, rows: exp.Query, hashed: exp.Expr) -> Fingerprint:
    """The rows of a query as a number and a sum.

    ``hashed`` makes the hash, a whole number, of a row of relation ``r``.
    """
    total = exp.Coalesce(this=exp.Sum(this=hashed), expressions=[exp.Literal.number(0)])
    query = exp.select(exp.Count(this=exp.Star()), total).from_(rows.subquery("r"))
    count, summed = session.row(Query(query, ()), {})
    return int(count), int(summed)
