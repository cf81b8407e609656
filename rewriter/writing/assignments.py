"""Assignments of SET: single columns, rows, subqueries for rows, DEFAULT. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Column, Table, fold
from journal.model.trees import copy_tree
from journal.sql.builders import fill
from journal.sql.sql import cast
from rewriter.checks.allowed import check_some
from rewriter.definitions.generated_values import check_writable
from rewriter.definitions.sequences import next_number
from rewriter.name_resolution import position_of
from rewriter.writing.target import convert_value, default_value, find_column, is_default

_PLACE_MAX = 1_000
"""Of an element that may be assigned: as many NULLs may have to be put before it."""


@dataclass(frozen=True, slots=True)
class Assigned:
    """Values by physical column name, in the order of the SET clause."""

    values: dict[str, exp.Expr]


def assignments(table: Table, nodes: Sequence[exp.Expr], alias: str = "") -> Assigned:
    """The assignments of a SET clause, each value converted to its column's type.

    ``alias`` is the name of the target, by which columns may be qualified.
    """
    check_some(nodes, None)
    values: dict[str, exp.Expr] = {}
    for node in nodes:
        if not isinstance(node, exp.EQ):
            raise PalimpsestError(
                Code.SYNTAX,
                "SET needs column = value",
                advice="separate assignments by commas",
                position=position_of(node),
            )
        _check_columns(table, node.this, alias)
        for stored, value in _pairs(table, node):
            if stored.physical in values:
                raise PalimpsestError(
                    Code.DUPLICATE_COLUMN,
                    f'column "{stored.name}" is assigned twice',
                    advice="assign each column once",
                    position=position_of(node),
                )
            if stored.generated is not None and is_default(value):
                continue
            _check_assignable(table, stored, value, node)
            if not is_default(value):
                chosen = copy_tree(value)
            elif stored.identity is not None:
                chosen = next_number(table, stored)
            else:
                chosen = default_value(stored)
            values[stored.physical] = convert_value(chosen, stored)
    return Assigned(values)


def _check_columns(table: Table, left: exp.Expr, alias: str) -> None:
    """Only plain columns of the target can be assigned: no fields, no elements, no other tables."""
    nodes = left.expressions if isinstance(left, exp.Tuple) else [left]
    for node in nodes:
        while isinstance(node, exp.Paren):
            node = node.this
        if isinstance(node, exp.Bracket):
            node = node.this
        if not isinstance(node, exp.Column | exp.Identifier):
            raise PalimpsestError(
                Code.NOT_SUPPORTED,
                "only whole columns can be assigned",
                advice="assign the column a changed value, for example with struct_update",
                position=position_of(node),
            )
        of = node.table if isinstance(node, exp.Column) else ""
        if of and fold(of) not in {fold(alias), fold(table.name.name)}:
            raise PalimpsestError(
                Code.NOT_SUPPORTED,
                f'"{of}" is not the table that is updated',
                advice="assign columns of one table only",
                position=position_of(node),
            )


def _check_assignable(table: Table, stored: Column, value: exp.Expr, node: exp.Expr) -> None:
    check_writable(table, [stored])
    if stored.identity is not None and stored.identity.always and not is_default(value):
        raise PalimpsestError(
            Code.GENERATED_COLUMN,
            f'column "{stored.name}" is generated and cannot be assigned',
            advice="leave it out, or assign DEFAULT",
            position=position_of(node),
        )


def _pairs(table: Table, node: exp.EQ) -> list[tuple[Column, exp.Expr]]:
    left, right = node.this, node.expression
    if isinstance(left, exp.Paren):
        left = exp.Tuple(expressions=[left.this])
    if isinstance(left, exp.Bracket):
        return [_element(table, left, right)]
    if not isinstance(left, exp.Tuple):
        return [(find_column(table, left), right)]
    columns = left.expressions
    if isinstance(right, exp.Subquery):
        return _each(table, columns, _fields(right, len(columns)))
    if isinstance(right, exp.Paren):
        right = exp.Tuple(expressions=[right.this])
    if isinstance(right, exp.Anonymous) and right.name.upper() == "ROW":
        right = exp.Tuple(expressions=right.expressions)
    if not isinstance(right, exp.Tuple) or len(right.expressions) != len(columns):
        raise PalimpsestError(
            Code.COLUMN_COUNT,
            f"{len(columns)} columns are assigned, but not as many values given",
            advice="give one value for each column",
            position=position_of(node),
        )
    return _each(table, columns, right.expressions)


def _each(
    table: Table, places: Sequence[exp.Expr], values: Sequence[exp.Expr]
) -> list[tuple[Column, exp.Expr]]:
    """What each place of a list of columns and elements gets."""
    return [
        _element(table, place, value)
        if isinstance(place, exp.Bracket)
        else (find_column(table, place), value)
        for place, value in zip(places, values, strict=True)
    ]


def _element(table: Table, left: exp.Bracket, right: exp.Expr) -> tuple[Column, exp.Expr]:
    """``a[3] = x`` or ``a[2:3] = ARRAY[x, y]``: the list with other elements at these places.

    It is filled up with NULL before them; of more values than there are places the first count.
    Raises NOT_SUPPORTED for places that are no numbers from 1 on, or too far behind, for values of
    a slice whose number the statement does not tell, and for what is no list; ARRAY_SIZES where
    these are too few.
    """
    stored = find_column(table, left.this)
    places = _places(left)
    element = stored.type.removesuffix("[]")
    if places is None or element == stored.type or is_default(right):
        raise _no_element(stored, left)
    first, last = places
    values = [right]
    if isinstance(left.expressions[0], exp.Slice):
        given = right.this if isinstance(right, exp.Cast) else right
        if not isinstance(given, exp.Array):
            raise _no_element(stored, left)
        count = last - first + 1
        if len(given.expressions) < count:
            raise PalimpsestError(
                Code.ARRAY_SIZES,
                f'{count} elements of "{stored.name}" are assigned, but'
                f" {len(given.expressions)} values given",
                advice="give one value for each element",
                position=position_of(left),
            )
        values = given.expressions[:count]
    return stored, fill(
        "CASE WHEN COALESCE(len(l), 0) >= n"
        " THEN list_concat(list_concat(l[1 : n - 1], v), l[m + 1 :])"
        " ELSE list_concat(list_concat(l, gap[1 : n - 1 - COALESCE(len(l), 0)]), v) END",
        l=left.this,
        n=first,
        m=last,
        v=exp.Array(expressions=[cast(value.copy(), element) for value in values]),
        gap=exp.Array(expressions=[cast(exp.null(), element) for _ in range(first)]),
    )


def _places(left: exp.Bracket) -> tuple[int, int] | None:
    """The first and the last place that ``a[3]`` or ``a[2:3]`` means, counted from 1."""
    if len(left.expressions) != 1:
        return None
    (node,) = left.expressions
    if isinstance(node, exp.Slice):
        ends = [node.this, node.expression]
        if node.args.get("step") is not None or not all(e is not None and e.is_int for e in ends):
            return None
        first, last = (int(end.to_py()) for end in ends)
    elif node.is_int:
        # The parser counts from 0 what the client counts from 1, unless it says otherwise.
        first = last = int(node.to_py()) + 1 - (left.args.get("offset") or 0)
    else:
        return None
    return (first, last) if 0 < first <= last <= _PLACE_MAX else None


def _no_element(stored: Column, left: exp.Bracket) -> PalimpsestError:
    return PalimpsestError(
        Code.NOT_SUPPORTED,
        f'only a list, or elements of one by numbers, can be assigned: "{stored.name}"',
        advice=f"write a[3] = x or a[2:3] = ARRAY[x, y] with numbers from 1 to {_PLACE_MAX:,},"
        " or assign all of it",
        position=position_of(left),
    )


def _fields(query: exp.Subquery, count: int) -> list[exp.Expr]:
    """One scalar subquery for each column of a row subquery."""
    names = [f"r{i}" for i in range(count)]
    fields: list[exp.Expr] = []
    for name in names:
        alias = exp.TableAlias(
            this=exp.to_identifier("assigned"), columns=[exp.to_identifier(n) for n in names]
        )
        rows = exp.Subquery(this=copy_tree(query.this), alias=alias)
        fields.append(exp.Subquery(this=exp.select(name).from_(rows)))
    return fields
