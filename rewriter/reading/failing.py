"""Finds conditions that may fail on a row, and queries that stop before their last row.

A store may ask a condition of a row that has ended: it moves it below the anti-join that leaves
such rows out. Then ``CAST(name AS INTEGER)`` fails on a name that was corrected long ago. What is
understood here in full cannot fail; the rest may. Pure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator

from sqlglot import exp

from journal.model.schema import Table, fold
from journal.model.trees import Nodes
from journal.sql.cte_scopes import CteScopes
from rewriter.context import RewriteContext
from rewriter.name_resolution import table_name

_COMPARISONS = (
    *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.In),
    *(exp.NullSafeEQ, exp.NullSafeNEQ),
)
_CANNOT = (
    *_COMPARISONS,
    *(exp.Column, exp.Identifier, exp.Literal, exp.Null, exp.Boolean, exp.Placeholder, exp.Star),
    *(exp.And, exp.Or, exp.Not, exp.Is, exp.Paren, exp.Alias, exp.TableAlias, exp.Tuple),
    *(exp.Case, exp.If, exp.Coalesce, exp.Nullif, exp.Like, exp.ILike, exp.Exists, exp.Any),
    *(exp.Lower, exp.Upper, exp.Length, exp.Trim, exp.StartsWith, exp.EndsWith, exp.DPipe),
    *(exp.TryCast, exp.Year, exp.Month, exp.Day, exp.Collate, exp.Query),
)
_NUMBERS = frozenset(
    "TINYINT SMALLINT INTEGER INT BIGINT HUGEINT UTINYINT USMALLINT UINTEGER UBIGINT UHUGEINT"
    " DECIMAL NUMERIC FLOAT REAL DOUBLE".split()
)


def may_fail(nodes: Nodes, context: RewriteContext, *, is_asked: bool) -> bool:
    """Whether a condition in a query may fail on a row, or a value that conditions are asked of.

    ``is_asked``: a query around it has conditions, perhaps on its values.
    """
    kinds = _column_kinds(nodes, context)
    return any(_fails(part, kinds) for part in _asked_parts(nodes, is_asked=is_asked))


def has_conditions_around(node: exp.Expr) -> bool:
    """Whether a query around a node has conditions."""
    around = node.find_ancestor(exp.Select)
    while around is not None:
        if any(around.args.get(arg) for arg in ("where", "joins", "qualify")):
            return True
        around = around.find_ancestor(exp.Select)
    return False


def gives_rows_early(query: exp.Expr) -> bool:
    """Whether a query may give rows before it has read all of its sources."""
    if not isinstance(query, exp.Select):
        return not isinstance(query, exp.SetOperation) or not query.args.get("distinct")
    if any(query.args.get(arg) for arg in ("order", "distinct", "group")):
        return False
    return not any(s.find(exp.AggFunc, exp.Window) is not None for s in query.selects)


def _asked_parts(nodes: Nodes, *, is_asked: bool) -> Iterator[exp.Expr]:
    """Conditions, and values that conditions of queries around them may be asked of."""
    for select in nodes.all(exp.Select):
        where = select.args.get("where")
        if where is not None:
            yield where.this
        for join in select.args.get("joins") or ():
            if join.args.get("on") is not None:
                yield join.args["on"]
        if is_asked or has_conditions_around(select):
            yield from select.selects


def _fails(node: exp.Expr, kinds: Callable[[exp.Expr], str | None]) -> bool:
    # Conditions on an aggregate stay above it, and other queries have parts of their own.
    for part in node.walk(prune=lambda n: isinstance(n, exp.Query | exp.AggFunc | exp.Window)):
        if isinstance(part, _COMPARISONS):
            sides = {kinds(side) for side in part.iter_expressions()} - {None}
            if len(sides) > 1:
                # One side is cast to the type of the other.
                return True
        elif (
            not isinstance(part, (*_CANNOT, exp.AggFunc, exp.Window))
            and part.find(exp.Column) is not None
            and not _escapes_constant(part)
        ):
            return True
    return False


def _escapes_constant(node: exp.Expr) -> bool:
    """True for LIKE .. ESCAPE of a pattern that no row changes: it fails on any, or on none."""
    if not isinstance(node, exp.Escape) or not isinstance(node.this, exp.Like | exp.ILike):
        return False
    return node.this.expression.find(exp.Column) is None and node.expression.is_string


def _column_kinds(nodes: Nodes, context: RewriteContext) -> Callable[[exp.Expr], str | None]:
    """Tells texts from numbers among columns and constants; None for all else."""
    known: dict[str, set[str]] | None = None

    def read() -> dict[str, set[str]]:
        scopes, kinds, seen = CteScopes(), defaultdict[str, set[str]](set), set[int]()
        for node in nodes.all(exp.Table):
            if isinstance(node.this, exp.Identifier) and not scopes.holds(node):
                found = context.catalog.get(table_name(node, context))
                if isinstance(found, Table) and found.id not in seen:
                    seen.add(found.id)
                    for column in found.columns:
                        kinds[fold(column.name)].add(_kind(column.type))
        return kinds

    def kind_of(node: exp.Expr) -> str | None:
        nonlocal known
        if isinstance(node, exp.Literal):
            # A text beside a column is cast once, whatever rows there are.
            return None if node.is_string else "number"
        if not isinstance(node, exp.Column):
            return None
        if known is None:
            known = read()
        kinds = known.get(fold(node.name), set())
        return next(iter(kinds)) if len(kinds) == 1 else None

    return kind_of


def _kind(stored: str) -> str:
    name = stored.partition("(")[0].upper()
    return "number" if name in _NUMBERS else name
