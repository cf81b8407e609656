"""Casts of DuckDB's dialect on a PostgreSQL store, and the texts of values. Pure.

1.5::DOUBLE::VARCHAR     texts of numbers, intervals, bytes and lists as DuckDB writes them
'3.7'::INT               a text is read as a number with a fraction, and rounded
x || true                likewise of what is joined with a text
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.sql.array_text import parse_list, text_of_array
from journal.sql.builders import call, fill
from rewriter.name_resolution import position_of
from rewriter.reading.duckdb.checks import day_of_text, is_moment_text
from rewriter.reading.duckdb.floats import exact_of
from rewriter.reading.duckdb.truths import NUMBERS, truth_of
from rewriter.reading.duckdb.types import FLOATS, TEXTS, WHOLE, DuckDBTypes
from rewriter.reading.value_types import KIND

_OWN_TEXT = FLOATS | {"INTERVAL", "BLOB"}
_WHOLE_TYPES = frozenset({exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT})
_TRUE_BUT_ZERO = NUMBERS - {"INTEGER"}
"""Numbers of which PostgreSQL makes no BOOLEAN."""
_OF_TRUTHS = frozenset(
    {
        *(exp.DType.TINYINT, exp.DType.SMALLINT, exp.DType.BIGINT, exp.DType.INT128),
        *(exp.DType.FLOAT, exp.DType.DOUBLE, exp.DType.DECIMAL, exp.DType.BIGNUM),
    }
)
"""Numbers that PostgreSQL makes of no BOOLEAN."""
_BYTE = "CASE WHEN v BETWEEN -128 AND 127 THEN v END"


def spell_cast(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """A cast to a text, a day, a number or a truth that PostgreSQL makes otherwise."""
    assert isinstance(node, exp.Cast)
    if is_moment_text(node):
        said = day_of_text(node.this.name, node)
        return None if said is None else exp.Cast(this=exp.Literal.string(said), to=node.to.copy())
    return cast_value(node.this, node.to, types)


def cast_value(value: exp.Expr, to: exp.DataType, types: DuckDBTypes) -> exp.Expr | None:
    """A value as another type; None where PostgreSQL makes the same of it."""
    kind = types.kind_of(value)
    if to.this in {exp.DType.TEXT, exp.DType.VARCHAR}:
        if to.expressions or not _has_own_text(value, types):
            return None
        return _duckdb_text(value, types)
    is_whole = to.this in _WHOLE_TYPES or to.this is exp.DType.TINYINT
    if is_whole and kind in TEXTS:
        return exp.Cast(this=exp.cast(value.copy(), "BIGNUM"), to=to.copy())
    if to.this is exp.DType.BOOLEAN and kind in _TRUE_BUT_ZERO:
        return truth_of(value)
    if kind == "BOOLEAN" and to.this in _OF_TRUTHS:
        return exp.Cast(this=exp.cast(value.copy(), "INT"), to=to.copy())
    number = exact_of(value, to, types)
    return None if number is None else exp.Cast(this=number, to=to.copy())


def _has_own_text(value: exp.Expr, types: DuckDBTypes) -> bool:
    return types.kind_of(value) in _OWN_TEXT or (types.of(value).kind or "").endswith("]")


def has_duckdb_text(kind: str) -> bool:
    """True for a type of columns whose values PostgreSQL writes otherwise than DuckDB."""
    return kind in _OWN_TEXT or kind.endswith("]")


def _duckdb_text(value: exp.Expr, types: DuckDBTypes) -> exp.Expr:
    """The text of a value as DuckDB writes it; of FLOATs PostgreSQL makes a DOUBLE."""
    is_made = isinstance(value.unnest(), exp.Binary) and types.kind_of(value) == "FLOAT"
    return call("shown", exp.cast(value.copy(), "FLOAT") if is_made else value)


def spell_try_cast(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """The same of a cast that gives NULL where it fails."""
    assert isinstance(node, exp.Cast)
    to, value = node.to, node.this
    kind = types.kind_of(value)
    if to.this is exp.DType.ARRAY and kind in {*TEXTS, None}:
        return _list_of_text(value, to)
    if to.this is exp.DType.TINYINT:
        number = _tried_whole(value, exp.DataType(this=exp.DType.SMALLINT), kind)
        return exp.paren(fill(_BYTE, v=number), copy=False)
    if to.this in _WHOLE_TYPES and kind not in WHOLE:
        return _tried_whole(value, to, kind)
    exact = exact_of(value, to, types)
    return None if exact is None else exp.TryCast(this=exact, to=to.copy())


def _tried_whole(value: exp.Expr, to: exp.DataType, kind: str | None) -> exp.Expr:
    """A whole number of any value, rounded as a cast rounds it; NULL where it is none."""
    if kind in WHOLE or kind == "BOOLEAN":
        plain = exp.cast(value.copy(), "INT") if kind == "BOOLEAN" else value.copy()
        return exp.TryCast(this=plain, to=to.copy())
    number: exp.Expr = exp.TryCast(this=value.copy(), to=exp.DataType(this=exp.DType.BIGNUM))
    if kind in FLOATS:
        number = call("nearest", value)
    number.meta[KIND] = "DECIMAL"
    return exp.TryCast(this=exp.cast(call("round", number), "VARCHAR"), to=to.copy())


def _list_of_text(value: exp.Expr, to: exp.DataType) -> exp.Expr:
    """The list that a text is that is written out, NULL if it is none."""
    if not value.is_string:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            "a PostgreSQL store cannot try to read a list from a text",
            advice="take it apart with string_split, and cast its parts",
            position=position_of(value),
        )
    try:
        return exp.Cast(
            this=exp.Literal.string(text_of_array(parse_list(value.name))), to=to.copy()
        )
    except ValueError:
        return exp.Cast(this=exp.Null(), to=to.copy())


def spell_joined(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """Texts of values that are joined with others."""
    parts = [node.this, node.expression] if isinstance(node, exp.DPipe) else node.expressions
    if isinstance(node, exp.DPipe) and types.kind_of(node) != "VARCHAR":
        return None
    shown = [text_of(part, types) for part in parts]
    if all(new is old for new, old in zip(shown, parts, strict=True)):
        return None
    made = node.copy()
    if isinstance(node, exp.DPipe):
        made.set("this", shown[0].copy())
        made.set("expression", shown[1].copy())
    else:
        made.set("expressions", [part.copy() for part in shown])
    return made


def text_of(value: exp.Expr, types: DuckDBTypes) -> exp.Expr:
    """A value of which PostgreSQL makes DuckDB's text: itself, or that text."""
    if _has_own_text(value, types):
        return _duckdb_text(value, types)
    return exp.cast(value.copy(), "VARCHAR") if types.kind_of(value) == "BOOLEAN" else value
