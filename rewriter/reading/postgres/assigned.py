"""Values that are put into columns, read and written as PostgreSQL does. Pure.

INSERT INTO t (a, b) SELECT 2, 'off'        false, in a column of BOOLEAN
INSERT INTO t (d) SELECT '8-Jan-99'         the eighth of January
INSERT INTO t (i) SELECT t FROM ..          a time of day as an INTERVAL, and the other way round
UPDATE t SET s = n, s = ARRAY[1]            PostgreSQL's text of a number, {1} of an array
INSERT INTO t (n) SELECT f FROM ..          a DOUBLE by its shortest text: 2.675, not 2.67499..
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Column
from journal.sql.typed_constants import typed_constant
from rewriter.name_resolution import position_of
from rewriter.reading.inserted_columns import inserted_columns, target_table
from rewriter.reading.postgres.cast_rules import check_assigned
from rewriter.reading.postgres.casts import cast_float
from rewriter.reading.postgres.rows import is_assignment
from rewriter.reading.postgres.texts import has_own_text, text_of
from rewriter.reading.value_types import ValueTypes

_CLOCKS = {"TIME", "INTERVAL"}
_TEXTS = ("TEXT", "VARCHAR")
_FLOATS = frozenset({"DOUBLE", "FLOAT", "REAL"})
_ZONED = frozenset({"TIMESTAMPTZ", "TIMESTAMP WITH TIME ZONE"})
_Assigned = tuple[exp.Expr, Column | None]


def changes_assigned(tree: exp.Expr, types: ValueTypes) -> bool:
    """True for a statement with values that stores read or write otherwise.

    Raises TYPE_MISMATCH for a value of a type that its column does not take.
    """
    return next(_changed_values(tree, types), None) is not None


def change_assigned(tree: exp.Expr, types: ValueTypes) -> None:
    """Put the values that they mean in their places."""
    for value, made in list(_changed_values(tree, types)):
        value.replace(made)


def _changed_values(tree: exp.Expr, types: ValueTypes) -> Iterator[tuple[exp.Expr, exp.Expr]]:
    is_native = types.context.capabilities.postgres_functions
    for value, column in _assigned(tree, types):
        if column is None or value.is_star:
            continue
        check_assigned(value, column, types)
        if not is_native and column.type.endswith("]"):
            _check_dimensions(value, column, types)
        made: exp.Expr | None = None
        if value.is_string:
            is_selected = isinstance(value.parent, exp.Select | exp.Alias)
            made = typed_constant(value, column.type) if is_selected else value
        elif not is_native or {column.type, types.of(value).kind} == _CLOCKS:
            made = _converted(value, types.of(value).kind or "", column.type)
        if made is not None and made is not value:
            yield value, made


def _check_dimensions(value: exp.Expr, column: Column, types: ValueTypes) -> None:
    """Raise NOT_SUPPORTED for an array of more dimensions than its column has here."""
    made = value
    while isinstance(made, exp.Cast | exp.Paren):
        made = made.this
    depth = (types.of(value).kind or "").count("[")
    if value.is_string:
        depth = _depth_of_text(value.name)
    elif isinstance(made, exp.Array):
        depth = max(depth, _depth_of(made))
    if depth > column.type.count("["):
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"an array of {depth} dimensions in a column of one is not supported",
            advice=f'declare "{column.name}" with a pair of brackets for each: integer[][]',
            position=position_of(value),
        )


def _depth_of(array: exp.Expr) -> int:
    inner = array.expressions[0] if isinstance(array, exp.Array) and array.expressions else None
    return isinstance(array, exp.Array) + (_depth_of(inner) if inner is not None else 0)


def _depth_of_text(text: str) -> int:
    """The dimensions of an array by the braces that its text begins with."""
    plain = "".join(text.split())
    return len(plain) - len(plain.lstrip("{"))


def _converted(value: exp.Expr, kind: str, to: str) -> exp.Expr | None:
    """What a value of a type becomes in a column of another; None where stores do the same."""
    if {kind, to} == _CLOCKS:
        return exp.cast(value.copy(), to, dialect="duckdb")
    if to.startswith(_TEXTS) and not to.endswith("]"):
        if value.is_number and "e" in value.name.lower():
            return exp.Literal.string(f"{Decimal(value.name):f}")
        return text_of(value, kind) if has_own_text(kind) else None
    if kind in _FLOATS and to.startswith("DECIMAL") and not to.endswith("]"):
        return cast_float(exp.cast(value.copy(), to, dialect="duckdb"))
    if kind in _ZONED and to == "TIME":
        return exp.cast(value.copy(), "TIMESTAMP", dialect="duckdb")
    return None


def _assigned(tree: exp.Expr, types: ValueTypes) -> Iterator[_Assigned]:
    """The values of a statement and the columns that take them."""
    for node in tree.find_all(exp.Insert, exp.EQ):
        if isinstance(node, exp.Insert):
            yield from _inserted(node, types)
        elif is_assignment(node) and isinstance(node.this, exp.Column | exp.Tuple):
            written = node.find_ancestor(exp.Merge) or node.find_ancestor(exp.Update, exp.Insert)
            table = None if written is None else target_table(written, types.context)
            if table is not None and isinstance(node.this, exp.Column):
                yield node.expression, table.find(node.this.name)
            elif table is not None:
                columns = [table.find(column.name) for column in node.this.expressions]
                yield from zip(_selected(node.expression), columns, strict=False)


def _selected(row: exp.Expr) -> Iterator[exp.Expr]:
    """The values of ``(a, b) = (SELECT ..)``, each constant as what a query of it gives."""
    query = row.this if isinstance(row, exp.Subquery) else None
    for output in query.expressions if isinstance(query, exp.Select) else ():
        value = output.unalias()
        yield (
            exp.Subquery(this=exp.Select(expressions=[value.copy()])) if value.is_string else value
        )


def _inserted(insert: exp.Insert, types: ValueTypes) -> Iterator[_Assigned]:
    rows = insert.expression
    if isinstance(rows, exp.Values):
        columns = inserted_columns(insert, types.context)
        for row in rows.expressions:
            yield from zip(row.expressions, columns, strict=False)
    elif isinstance(rows, exp.Query):
        columns = inserted_columns(insert, types.context)
        for select in _selects(rows):
            for output, column in zip(select.expressions, columns, strict=False):
                if output.is_star:
                    break
                yield output.unalias(), column


def _selects(query: exp.Expr) -> Iterator[exp.Select]:
    """The SELECTs whose rows a query gives."""
    while isinstance(query, exp.Subquery):
        query = query.this
    if isinstance(query, exp.SetOperation):
        if not query.args.get("by_name"):
            yield from _selects(query.this)
            yield from _selects(query.expression)
    elif isinstance(query, exp.Select):
        yield query
