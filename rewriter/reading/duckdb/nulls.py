"""NULLs without a type in DuckDB's dialect on a PostgreSQL store, which takes them for texts. Pure.

1 = (SELECT NULL)             of the type of the other side
string_agg(x, NULL)           NULL
array_to_string(l, NULL)      with commas; of NULL it is NULL
"""

from __future__ import annotations

from sqlglot import exp

from rewriter.reading.duckdb.casts import text_of
from rewriter.reading.duckdb.types import TEXTS, DuckDBTypes

ELEMENTWISE = (exp.Transform, exp.ArrayFilter, exp.ArraySort, exp.ArraySlice)
_NAMES = frozenset(
    "list_resize array_resize list_apply array_apply array_transform list_sort array_sort"
    " list_reverse_sort array_reverse_sort list_slice list_where array_where list_select"
    " array_select list_reverse array_reverse list_distinct".split()
)
_AROUND = (exp.Subquery, exp.Paren, exp.Any, exp.All)


def spell_null(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """The one value of a query that is compared with another."""
    output = node.parent if isinstance(node.parent, exp.Alias) else node
    select = output.parent
    if not isinstance(select, exp.Select) or select.expressions != [output]:
        return None
    side: exp.Expr = select
    while isinstance(side.parent, _AROUND):
        side = side.parent
    beside = side.parent
    if not isinstance(beside, exp.Binary | exp.In):
        return None
    other = beside.expression if side is beside.this else beside.this
    kind = types.kind_of(other) if isinstance(other, exp.Expr) else None
    return None if kind is None else exp.cast(exp.Null(), kind, dialect="duckdb")


def of_no_list(node: exp.Expr) -> bool:
    """True for a function of elements whose list is NULL, which it is then, too."""
    if isinstance(node, exp.Anonymous):
        given = node.expressions[:1]
        return node.name.lower() in _NAMES and [*map(type, given)] == [exp.Null]
    return isinstance(node.this, exp.Null)


def spell_string_agg(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """What joins texts with NULL between them is NULL; it joins the texts of other values."""
    separator = node.args.get("separator")
    if isinstance(node.this, exp.Null) and not isinstance(separator, exp.Null):
        made = node.copy()
        made.set("this", exp.cast(exp.Null(), "VARCHAR"))
        return made
    if not isinstance(separator, exp.Null):
        return _of_texts(node, types)
    nothing = exp.cast(exp.Null(), "VARCHAR")
    return exp.GroupConcat(this=nothing, separator=exp.Literal.string(","))


def _of_texts(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """``string_agg`` of values that are no texts, which PostgreSQL asks for."""
    value = _joined_value(node)
    if (types.kind_of(value) or "VARCHAR") in TEXTS:
        return None
    made = node.copy()
    text = exp.cast(text_of(value, types).copy(), "VARCHAR")
    _joined_value(made).replace(text)
    return made


def _joined_value(node: exp.Expr) -> exp.Expr:
    """What is joined, without DISTINCT and ORDER BY around it."""
    value = node.this
    while isinstance(value, exp.Order | exp.Distinct):
        value = value.expressions[0] if isinstance(value, exp.Distinct) else value.this
    assert isinstance(value, exp.Expr)
    return value


def spell_joined_list(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """``array_to_string``; of truths it is true, not t."""
    if isinstance(node.this, exp.Null):
        return exp.cast(exp.Null(), "VARCHAR")
    made = node.copy()
    if isinstance(node.expression, exp.Null):
        made.set("expression", exp.Literal.string(","))
    if types.of(node.this).kind == "BOOLEAN[]":
        made.set("this", exp.cast(made.this, "VARCHAR[]", dialect="duckdb"))
    return None if made == node else made
