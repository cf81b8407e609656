"""Rows of a table as they are after some parts of the statement that reads it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from journal.model.schema import Table
from journal.sql.relations import Output, stored_outputs
from journal.sql.sql import named, relation, select

RowChange = Callable[[exp.Query], exp.Query]
"""Makes of rows with physical names and their version what a part of the statement leaves."""


def outputs_before(
    changes: Sequence[RowChange], table: Table, outputs: list[Output]
) -> list[Output]:
    """What is read of the rows from before ``changes``: all that is stored, if there are any."""
    return stored_outputs(table) if changes else outputs


def rows_after(
    changes: Sequence[RowChange], rows: exp.Query, outputs: Sequence[Output]
) -> exp.Query:
    """The outputs of ``rows``, read by ``outputs_before``, after ``changes`` in their order."""
    if not changes:
        return rows
    for change in changes:
        rows = change(rows)
    return select([named(value, name) for value, name in outputs], relation(rows, "q"))
