"""What the assignments of an UPDATE, a MERGE or ON CONFLICT write."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from sqlglot import exp

from rewriter.lineage.expressions import ExpressionReader
from rewriter.lineage.scope import Scope, fold
from rewriter.lineage.sources import Cell, Relation, Sources
from rewriter.lineage.targets import ColumnTarget, target_of

ReadRelation = Callable[[exp.Expr, Scope], Relation]


def assigned_columns(
    table: str,
    columns: Collection[str],
    assignments: Sequence[exp.Expr],
    reader: ExpressionReader,
    influences: Sources,
    relation: ReadRelation,
    named: Mapping[str, str],
) -> Iterator[ColumnTarget]:
    """What SET writes to a table of these columns, decided by ``influences``.

    ``relation`` reads a query in a scope; ``named`` has the tables of an UPDATE of several, by
    alias.
    """
    for assignment in assignments:
        if not isinstance(assignment, exp.EQ):
            continue
        left, right = assignment.this, assignment.expression
        if isinstance(left, exp.Bracket):
            left = left.this
        if isinstance(left, exp.Tuple):
            yield from _tuple_assigned(table, left, right, reader, influences, relation)
            continue
        cell = reader.cell(right)
        to, column = table, fold(left)
        if isinstance(left, exp.Column) and left.table:
            first = fold(left.parts[0])
            to = named.get(first, table)
            if first not in named and first in columns:
                column = first  # a field of a struct
        yield target_of(to, column, Cell(cell.sources | influences, cell.unknown))


def _tuple_assigned(
    table: str,
    left: exp.Tuple,
    right: exp.Expr,
    reader: ExpressionReader,
    influences: Sources,
    relation: ReadRelation,
) -> Iterator[ColumnTarget]:
    """``(a, b) = (x, y)`` and ``(a, b) = (SELECT ..)``."""
    if isinstance(right, exp.Tuple):
        cells = [reader.cell(value) for value in right.expressions]
    else:
        found = relation(right, reader.scope)
        cells = list(found.cells)
        influences |= found.influences
    for name, cell in zip(left.expressions, cells, strict=False):
        yield target_of(table, fold(name), Cell(cell.sources | influences, cell.unknown))
