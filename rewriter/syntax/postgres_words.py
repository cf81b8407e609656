"""PostgreSQL's texts of arrays, UNNEST of several and FLOAT(n), in words that every store takes.

'{1,NULL}'::integer[]      becomes  CAST(ARRAY[CAST('1' AS INT), NULL] AS INT[])
FROM UNNEST(a, b) AS t(x)  becomes  FROM (SELECT UNNEST(a) AS x, UNNEST(b) AS unnest_1) AS t
    FLOAT(53)                  becomes  DOUBLE PRECISION
"""

from __future__ import annotations

from sqlglot import exp

from journal.sql.array_text import array_of_text

_FLOATS = frozenset({exp.DType.FLOAT, exp.DType.DOUBLE})
_REAL_DIGITS = 24
_UNNAMED = "unnest"
"""What PostgreSQL calls the columns of UNNEST."""


def with_words_spelled_out(ast: exp.Expr) -> exp.Expr:
    """A statement without such words; raises CONVERSION for a text that is no array."""
    for cast in list(ast.find_all(exp.Cast)):
        text = cast.this.unnest() if isinstance(cast.this, exp.Paren) else cast.this
        if cast.is_type(exp.DType.ARRAY) and isinstance(text, exp.Literal) and text.is_string:
            cast.set("this", array_of_text(text.name, cast.to))
    for kind in list(ast.find_all(exp.DataType)):
        if kind.this in _FLOATS and kind.expressions:
            kind.replace(_float_of(kind))
    for call in list(ast.find_all(exp.Unnest)):
        if len(call.expressions) > 1 and isinstance(call.parent, exp.From | exp.Join):
            call.replace(_side_by_side(call))
    return ast


def _float_of(kind: exp.DataType) -> exp.DataType:
    """FLOAT(n): a REAL up to 24 binary digits, otherwise a DOUBLE PRECISION."""
    digits = kind.expressions[0].name
    is_small = digits.isdigit() and int(digits) <= _REAL_DIGITS
    return exp.DataType(this=exp.DType.FLOAT if is_small else exp.DType.DOUBLE)


def _side_by_side(call: exp.Unnest) -> exp.Expr:
    """The arrays beside each other, the shorter ones filled up with NULL."""
    alias = call.args.get("alias")
    given = [c.name for c in alias.columns] if isinstance(alias, exp.TableAlias) else []
    free = [_UNNAMED, *(f"{_UNNAMED}_{place}" for place in range(1, len(call.expressions)))]
    names = [*given, *free[len(given) :]]
    columns: list[exp.Expr] = [
        exp.alias_(exp.Explode(this=array.copy()), name, quoted=True)
        for array, name in zip(call.expressions, names, strict=False)
    ]
    offset = call.args.get("offset")
    if offset:
        sizes = [exp.ArraySize(this=array.copy()) for array in call.expressions]
        last = exp.Greatest(this=sizes[0], expressions=sizes[1:])
        numbers = exp.GenerateSeries(start=exp.Literal.number(1), end=last)
        name = offset.name if isinstance(offset, exp.Identifier) else "ordinality"
        columns.append(exp.alias_(exp.Explode(this=numbers), name, quoted=True))
    called = alias.name if isinstance(alias, exp.TableAlias) and alias.this else _UNNAMED
    return exp.select(*columns).subquery(alias=exp.to_identifier(called, quoted=True))
