"""Long chains of conditions on whole rows, said as lists of rows. Pure.

WHERE a = 1 AND b = 2 OR a = 3 AND b = 4 OR ..
    a IN (1, 3, ..) AND b IN (2, 4, ..) AND (a, b) IN ((1, 2), (3, 4), ..)

DuckDB simplifies such a chain in a time that grows as the square of it, and looks a row up in a
list at once. The conditions on the single columns leave out NULL, which equals itself within a row,
and by them a scan leaves out files, as by the chain.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from journal.model.schema import fold
from journal.model.trees import Nodes, copy_tree
from rewriter.context import RewriteContext
from rewriter.reading.equal_keys import WHOLE
from rewriter.reading.value_types import ValueTypes

LONG = 64
"""Shorter chains take the store no time."""
_WHOLE = frozenset({"TINYINT", "SMALLINT", "INT", "INTEGER", "BIGINT"})
_TEXTS = frozenset({"TEXT", "VARCHAR"})
_DIGITS_MAX = 18
_Row = dict[tuple[str, str], tuple[exp.Column, exp.Expr]]


def list_rows(nodes: Nodes, context: RewriteContext) -> bool:
    """Put lists of rows in the place of long chains of a query, in place; True if there were any.

    Only where NULL leaves out a row as false does, and where constants are compared with columns of
    their own kind: in a list all take one type.
    """
    if len(nodes.by_type.get(exp.Or, ())) < LONG - 1 or not context.capabilities.lists_rows:
        return False
    types, kinds = ValueTypes(context), dict(context.kinds)
    chains = [node for node in nodes.all(exp.Or) if _is_whole_filter(node)]
    made = [(chain, _listed(chain, types, kinds)) for chain in chains]
    for chain, found in made:
        if found is not None:
            chain.replace(found)
    return any(found is not None for _, found in made)


def _is_whole_filter(node: exp.Or) -> bool:
    """True for the whole of a chain that leaves out a row for NULL as it does for false."""
    parent = node.parent
    while isinstance(parent, exp.Paren | exp.And):
        parent = parent.parent
    return isinstance(parent, exp.Where)


def _listed(chain: exp.Or, types: ValueTypes, kinds: dict[str, str]) -> exp.Expr | None:
    """The list of rows that a chain stands for; None where it does not."""
    rows: list[_Row] = []
    for term in _parts(chain, exp.Or):
        row = _row_of(term)
        if row is None or (rows and row.keys() != rows[0].keys()):
            return None
        rows.append(row)
    if len(rows) < LONG or len(rows[0]) < 2:
        return None
    columns = list(rows[0])
    listed = {name: [row[name][1] for row in rows] for name in columns}
    for name in columns:
        found = types.of(rows[0][name][0])
        is_plain = found.enum is None and found.collation is None and found.spelled is None
        kind = found.kind if is_plain else None
        if not all(_fits(value, kind, kinds) for value in listed[name]):
            return None
    named = {name: rows[0][name][0] for name in columns}
    each = [
        exp.In(this=copy_tree(named[name]), expressions=[copy_tree(v) for v in listed[name]])
        for name in columns
    ]
    whole = exp.In(
        this=exp.Tuple(expressions=[copy_tree(named[name]) for name in columns]),
        expressions=[
            exp.Tuple(expressions=[copy_tree(row[name][1]) for name in columns]) for row in rows
        ],
    )
    return exp.Paren(this=exp.and_(*each, whole, copy=False))


def _parts(node: exp.Expr, kind: type[exp.And | exp.Or]) -> Iterator[exp.Expr]:
    """The conditions that are joined by one word, in any nesting, the first one first."""
    left = [node]
    while left:
        part = left.pop()
        while isinstance(part, exp.Paren):
            part = part.this
        if type(part) is kind:
            left += [part.expression, part.this]
        else:
            yield part


def _row_of(term: exp.Expr) -> _Row | None:
    """The constants that a condition demands of columns; None if it says anything else."""
    found: _Row = {}
    for part in _parts(term, exp.And):
        if not isinstance(part, exp.EQ):
            return None
        column, value = part.this, part.expression
        if not isinstance(column, exp.Column):
            column, value = value, column
        if not isinstance(column, exp.Column) or column.args.get("db") is not None:
            return None
        name = fold(column.table), fold(column.name)
        if name in found:
            return None
        found[name] = column, value
    return found


def _fits(value: exp.Expr, kind: str | None, kinds: dict[str, str]) -> bool:
    """True for a constant that is compared with a column of a type as it is."""
    if kind in _WHOLE:
        if isinstance(value, exp.Placeholder):
            return kinds.get(value.name) == WHOLE
        value = value.this if isinstance(value, exp.Neg) else value
        is_number = isinstance(value, exp.Literal) and not value.is_string
        return is_number and value.name.isdecimal() and len(value.name) <= _DIGITS_MAX
    if kind is not None and kind.partition("(")[0] in _TEXTS:
        return isinstance(value, exp.Literal) and value.is_string
    return False
