"""Numbers that Spark makes otherwise: casts to whole ones, divisions, shifts and logarithms.

    CAST(2.7 AS INTEGER)    3, where Spark cuts off; of a DOUBLE the even neighbour of a half
    CAST(1e20 AS VARCHAR)   1e+20, where Spark says 1.0E20, and 1.0E7 of what has no exponent
    log(100)                2, where Spark takes the natural logarithm
    isnan(NULL)             NULL

What is cast is known by ``note_numbers``, which looks at the tree as the client's statement gives
it; where a type is not known, Spark is asked for it. Pure: AST in, AST out.
"""

from __future__ import annotations

from sqlglot import exp

from journal.sql.builders import call, fill, is_null
from journal.stores.hive.dialect.known_types import KnownTypes

_NOTE = "palimpsest_rounded"
_FLOAT = "palimpsest_float"
_WHOLE = frozenset(
    {
        *(exp.DType.TINYINT, exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT),
        *(exp.DType.UTINYINT, exp.DType.USMALLINT, exp.DType.UINT, exp.DType.UBIGINT),
    }
)
_INEXACT = {exp.DType.DOUBLE: "rint", exp.DType.FLOAT: "rint", exp.DType.DECIMAL: "round"}
_UNKNOWN = (
    "CASE WHEN typeof(x) IN ('double', 'float') THEN rint(CAST(x AS DOUBLE))"
    " WHEN typeof(x) LIKE 'decimal%' THEN round(CAST(x AS DECIMAL(38, 18)), 0) ELSE whole END"
)
_FLOATS = frozenset({exp.DType.DOUBLE, exp.DType.FLOAT})
_TEXTS = frozenset({exp.DType.TEXT, exp.DType.VARCHAR})
_SIGN = "CASE WHEN t LIKE '-%' THEN '-' ELSE '' END"
_SIGNS = "regexp_replace(regexp_replace(t, 'E.*$|[-.]', ''), '0+$', '')"
_POWER = "CAST(regexp_extract(t, 'E(-?[0-9]+)$', 1) AS INT)"
_FLOAT_TEXT = (
    "CASE WHEN t NOT LIKE '%E%' THEN CASE t WHEN 'Infinity' THEN 'inf' WHEN '-Infinity'"
    " THEN '-inf' WHEN 'NaN' THEN 'nan' ELSE t END"
    f" WHEN {_POWER} BETWEEN 7 AND 15 THEN concat({_SIGN}, rpad(substring({_SIGNS}, 1,"
    f" {_POWER} + 1), {_POWER} + 1, '0'), '.', CASE WHEN length({_SIGNS}) > {_POWER} + 1"
    f" THEN substring({_SIGNS}, {_POWER} + 2) ELSE '0' END)"
    f" WHEN {_POWER} = -4 THEN concat({_SIGN}, '0.000', {_SIGNS})"
    f" ELSE concat({_SIGN}, substring({_SIGNS}, 1, 1), CASE WHEN length({_SIGNS}) > 1 THEN"
    f" concat('.', substring({_SIGNS}, 2)) ELSE '' END, CASE WHEN {_POWER} < 0 THEN 'e-' ELSE 'e+'"
    f" END, CASE WHEN abs({_POWER}) < 10 THEN '0' ELSE '' END, CAST(abs({_POWER}) AS STRING)) END"
)
"""The text of a floating-point number of which Spark's is ``t``."""
_COUNTS = (
    *(exp.Count, exp.RowNumber, exp.Rank, exp.DenseRank, exp.Ntile, exp.Length, exp.ArraySize),
    *(exp.IntDiv, exp.Extract, exp.DateDiff, exp.CountIf, exp.Boolean, exp.Null),
)
"""What is a whole number, or no number, whatever it is of."""


def note_numbers(tree: exp.Expr, known: KnownTypes) -> None:
    """Note at casts to whole numbers how what is cast is rounded, and texts of floats."""
    for cast in list(tree.find_all(exp.Cast)):
        if cast.to.this in _TEXTS and not _is_read_again(cast):
            cast.meta[_FLOAT] = _is_float(cast.this, known)
        if cast.to.this in _WHOLE:
            how = _rounded_by(cast.this, known)
            if how is not None:
                cast.meta[_NOTE] = how


def _rounded_by(value: exp.Expr, known: KnownTypes) -> str | None:
    value = value.unnest()
    if isinstance(value, exp.Neg):
        return _rounded_by(value.this, known)
    if isinstance(value, exp.Literal):
        return "round" if value.is_number and not value.is_int else None
    if isinstance(value, _COUNTS) or isinstance(getattr(value, "this", None), exp.Count):
        return None
    kind = known.of(value)
    return "" if kind is None else _INEXACT.get(kind.this)


def cast_to_whole(cast: exp.Expr) -> exp.Expr | None:
    """A cast to a whole number of what was noted as none, or as of no known type."""
    how = cast.meta.get(_NOTE)
    if how is None or cast.args.get("safe"):
        return None
    value = exp.paren(cast.this.copy())
    if how:
        rounded: exp.Expr = call(how, value)
    else:
        plain = exp.cast(value.copy(), "DECIMAL(38, 0)", dialect="spark")
        rounded = fill(_UNKNOWN, "spark", x=value, whole=plain)
    made = cast.copy()
    made.set("this", rounded)
    return made


def _is_float(value: exp.Expr, known: KnownTypes) -> bool:
    """True for a floating-point number: one that is known, and what is computed of one."""
    value = value.unnest()
    if isinstance(value, exp.Neg | exp.Abs):
        return _is_float(value.this, known)
    if isinstance(value, exp.Avg):
        return True
    if isinstance(value, exp.Add | exp.Sub | exp.Mul | exp.Div):
        return any(_is_float(side, known) for side in (value.this, value.expression))
    kind = known.of(value)
    return kind is not None and kind.this in _FLOATS


def _is_read_again(cast: exp.Expr) -> bool:
    """True for a text of which a number is made, whatever it is written like."""
    return isinstance(cast.parent, exp.Cast) and cast.parent.is_type("decimal")


def float_as_text(cast: exp.Expr) -> exp.Expr | None:
    """A cast to text of what was noted as a floating-point number."""
    if not cast.meta.get(_FLOAT) or isinstance(cast.this, exp.Literal):
        return None
    return exp.paren(fill(_FLOAT_TEXT, "spark", t=exp.cast(cast.this.copy(), "STRING")))


def divided(node: exp.Expr) -> exp.Expr | None:
    """The canonical division is of doubles, and by zero it is infinite or no number.

    One that goes by types and is not safe, PostgreSQL's, fails for zero as Spark's does.
    """
    if node.meta.get("settled"):
        return None
    left, right = exp.cast(node.this, "DOUBLE"), exp.cast(node.expression, "DOUBLE")
    made = exp.Div(this=left, expression=right, typed=True, safe=True)
    made.meta["settled"] = True
    is_never_zero = node.expression.is_number and float(node.expression.name) != 0
    if is_never_zero or (node.args.get("typed") and node.args.get("safe") is False):
        return exp.Paren(this=made)
    if node.expression.is_number:
        # Spark would divide by a constant, and fail, before it looks at the case.
        return fill("(x * CAST('inf' AS DOUBLE))", x=left)
    by_zero = "CASE WHEN y = 0 THEN x * CAST('inf' AS DOUBLE) ELSE divided END"
    return fill(by_zero, x=left, y=right, divided=made)


def shifted(node: exp.Expr) -> exp.Expr | None:
    """One to the left, of a number wider than Spark shifts: the bits above are cut off anyway."""
    cast = node.this
    if not isinstance(cast, exp.Cast) or cast.this.name != "1":
        return None
    node.set("this", exp.cast(cast.this.copy(), "BIGINT"))
    return None


def logarithm(node: exp.Expr) -> exp.Expr | None:
    """Without a base, that of ten."""
    return call("log10", node.this) if node.expression is None else None


def cut(node: exp.Expr) -> exp.Expr | None:
    """``trunc`` of a number, in its type."""
    if node.args.get("decimals") is not None:
        return None
    return fill("((x) - (x) % 1)", "spark", x=node.this)


def is_no_number(node: exp.Expr) -> exp.Expr | None:
    """``isnan``, which is NULL for NULL."""
    return exp.Case().when(is_null(exp.paren(node.this.copy())), exp.Null()).else_(node.copy())


def is_infinite(node: exp.Expr) -> exp.Expr | None:
    """``isinf``, by the text of the number, as that is one for each type."""
    return fill("(CAST(x AS STRING) IN ('Infinity', '-Infinity'))", "spark", x=node.this)
