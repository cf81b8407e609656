"""What a statement that is to be run writes, by its tree; what nobody can follow is unknown."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot import exp
from sqlglot.errors import SqlglotError

from journal.model.errors import PalimpsestError
from journal.model.lineage import WHOLE
from rewriter.lineage.session_tables import SessionTables, without_history_calls
from rewriter.lineage.sources import Untraceable
from rewriter.lineage.statements import lineage_of
from rewriter.lineage.targets import ColumnTarget

UNTRACEABLE = (
    *(Untraceable, SqlglotError, PalimpsestError, RecursionError),
    *(AttributeError, LookupError, TypeError, ValueError, AssertionError),
)
"""A tree of a shape that nobody foresaw stops no statement: what it writes is unknown, then."""
_VALUE = re.compile(r"'(?:[^']|'')*'")


def targets_written(ast: exp.Expr, tables: SessionTables) -> tuple[ColumnTarget, ...]:
    """What a statement writes, each column with its sources.

    Where the tree cannot be followed, that is unknown of all columns that it names.
    """
    try:
        return tuple(lineage_of(without_history_calls(ast), tables))
    except UNTRACEABLE as error:
        return tuple(_unknown_writes(ast, tables, reason(error)))


def without_values(why: str) -> str:
    """A reason without the values of its statement."""
    return _VALUE.sub("?", why)


def reason(error: Exception) -> str:
    """Why something cannot be followed, without a value of its statement."""
    if isinstance(error, Untraceable):
        return without_values(str(error))
    return f"the statement has a form that lineage does not know ({type(error).__name__})"


def _unknown_writes(ast: exp.Expr, tables: SessionTables, why: str) -> Iterator[ColumnTarget]:
    for node in ast.find_all(exp.Insert, exp.Update, exp.Merge, exp.Create, exp.Delete, exp.Copy):
        table = node.this.this if isinstance(node.this, exp.Schema) else node.this
        if not isinstance(table, exp.Table):
            continue
        columns = [WHOLE]
        if isinstance(node, exp.Insert) and isinstance(node.this, exp.Schema):
            columns = [name.name.lower() for name in node.this.expressions]
        elif isinstance(node, exp.Update):
            written = [e.this for e in node.expressions if isinstance(e, exp.EQ)]
            # The element of a list, a[1], is written into its column.
            whole = [w.this if isinstance(w, exp.Bracket) else w for w in written]
            columns = [w.name.lower() for w in whole]
        for column in columns:
            yield ColumnTarget(tables.name(table), column, (), why)
