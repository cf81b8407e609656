"""Places in ``int2vector``, ``oidvector`` and ``name``, which PostgreSQL counts from 0. Pure.

The engine has lists in their stead, and counts all of them from 1. It has no rows as values either,
so that functions of them are given the columns that they look at.
"""

from __future__ import annotations

from sqlglot import exp

_FROM_ZERO = frozenset(
    {
        "indkey",
        "indclass",
        "indcollation",
        "indoption",
        "proargtypes",
        "tgattr",
        "prattrs",
        "typname",
    }
)
"""The columns of these types, and one of type ``name``, of which pg_dump reads the first letter."""
_OF_ROWS = {
    "_pg_truetypid": ("atttypid", "typtype", "typbasetype"),
    "_pg_truetypmod": ("atttypmod", "typtype", "typtypmod"),
}
_BOUNDS = frozenset({"array_lower", "array_upper"})


def for_lists_and_rows(node: exp.Expr) -> exp.Expr | None:
    """What stands for a node that counts the places of a vector; None for others.

    A function of rows is changed in place, too.

    A subscript is changed in place, and what a call is made of is taken over into the new one.
    """
    match node:
        case exp.Bracket() if _is_vector(node.this) and len(node.expressions) == 1:
            if not isinstance(node.expressions[0], exp.Slice):
                node.set("expressions", [_other_place(node.expressions[0], exp.Add)])
        case exp.ArrayPosition() if _is_vector(node.this):
            found = exp.ArrayPosition(this=node.this, expression=node.expression)
            return _other_place(found, exp.Sub)
        case exp.Anonymous() if node.name.lower() in _OF_ROWS and len(node.expressions) == 2:
            # Of a.*, t.*: a row of pg_attribute and that of its type.
            first, second = (str(getattr(part, "table", "")) for part in node.expressions)
            places = zip(_OF_ROWS[node.name.lower()], (first, second, second), strict=True)
            node.set("expressions", [exp.column(name, table) for name, table in places])
        case exp.Cast() if _is_vector(node.this) and node.to.this in exp.DataType.TEXT_TYPES:
            # As SQLAlchemy 1.4 reads the columns of an index: '1 3'.
            parts = [node.this, exp.Literal.string(" ")]
            return exp.Anonymous(this="array_to_string", expressions=parts)
        case exp.Anonymous() if node.expressions and _is_vector(node.expressions[0]):
            return _call(node.name.lower(), node)
    return None


def _call(name: str, node: exp.Anonymous) -> exp.Expr | None:
    if name in _BOUNDS:
        bound = exp.Anonymous(this=f"pgc_{name}", expressions=node.expressions)
        return _other_place(bound, exp.Sub)
    if name != "generate_subscripts":
        return None
    # The number of the dimension is 1, and the client's parameters are all to be read.
    vector, dimension = node.expressions
    size = exp.Anonymous(this="len", expressions=[vector])
    last = exp.Sub(this=size, expression=exp.Paren(this=dimension))
    numbers = exp.Anonymous(this="generate_series", expressions=[exp.Literal.number(0), last])
    return exp.Anonymous(this="unnest", expressions=[numbers])


def _is_vector(node: exp.Expr) -> bool:
    """True for such a column, also by the name that a subquery of the statement gives to it."""
    inner = node.unnest()
    if not isinstance(inner, exp.Column):
        return False
    name = inner.name.lower()
    return name in _FROM_ZERO or any(
        alias.alias.lower() == name and alias.this.name.lower() in _FROM_ZERO
        for alias in inner.root().find_all(exp.Alias)
        if isinstance(alias.this, exp.Column) and alias.this is not inner
    )


def _other_place(place: exp.Expr, how: type[exp.Add | exp.Sub]) -> exp.Expr:
    """A place in a vector as the engine counts it, or as PostgreSQL does."""
    return exp.Paren(this=how(this=exp.Paren(this=place), expression=exp.Literal.number(1)))
