"""Casts of DuckDB's dialect on a PostgreSQL store, and the texts of values. Pure.

1.5::DOUBLE::VARCHAR     texts of numbers, intervals, bytes and lists as DuckDB writes them
'3.7'::INT               a text is read as a number with a fraction, and rounded
x || true                likewise of what is joined with a text
"""

from __future__ import annotations

from sqlglot import exp

from journal.sql.builders import call, fill
from rewriter.reading.duckdb_checks import day_of_text, is_moment_text
from rewriter.reading.duckdb_floats import exact_of
from rewriter.reading.duckdb_truths import NUMBERS, truth_of
from rewriter.reading.duckdb_types import FLOATS, TEXTS, DuckDBTypes
from rewriter.reading.value_types import KIND

_OWN_TEXT = FLOATS | {"INTERVAL", "BLOB"}
_WHOLE_TYPES = frozenset({exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT})
_TRUE_BUT_ZERO = NUMBERS - {"INTEGER"}
"""Numbers of which PostgreSQL makes no BOOLEAN."""
_BYTE = "CASE WHEN v BETWEEN -128 AND 127 THEN v END"


def spell_cast(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """A cast to a text, a day, a number or a truth that PostgreSQL makes otherwise."""
    assert isinstance(node, exp.Cast)
    to, value = node.to, node.this
    if to.this in {exp.DType.TEXT, exp.DType.VARCHAR} and not to.expressions:
        return _duckdb_text(value, types) if _has_own_text(value, types) else None
    if is_moment_text(node):
        said = day_of_text(value.name, node)
        return None if said is None else exp.Cast(this=exp.Literal.string(said), to=to.copy())
    is_text = types.kind_of(value) in TEXTS
    if (to.this in _WHOLE_TYPES or to.this is exp.DType.TINYINT) and is_text:
        return exp.Cast(this=exp.cast(value.copy(), "BIGNUM"), to=to.copy())
    if to.this is exp.DType.BOOLEAN and types.kind_of(value) in _TRUE_BUT_ZERO:
        return truth_of(value)
    number = exact_of(value, to, types)
    return None if number is None else exp.Cast(this=number, to=to.copy())


def _has_own_text(value: exp.Expr, types: DuckDBTypes) -> bool:
    kind = types.of(value).kind or ""
    return types.kind_of(value) in _OWN_TEXT or (kind.endswith("[]") and "[][]" not in kind)


def _duckdb_text(value: exp.Expr, types: DuckDBTypes) -> exp.Expr:
    """The text of a value as DuckDB writes it; of FLOATs PostgreSQL makes a DOUBLE."""
    is_made = isinstance(value.unnest(), exp.Binary) and types.kind_of(value) == "FLOAT"
    return call("shown", exp.cast(value.copy(), "FLOAT") if is_made else value)


def spell_try_cast(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """The same of a cast that gives NULL where it fails."""
    assert isinstance(node, exp.Cast)
    to, value = node.to, node.this
    if to.this is exp.DType.TINYINT:
        tried = exp.TryCast(this=value.copy(), to=exp.DataType(this=exp.DType.SMALLINT))
        return exp.paren(fill(_BYTE, v=spell_try_cast(tried, types) or tried), copy=False)
    if to.this in _WHOLE_TYPES and types.kind_of(value) in TEXTS:
        number = exp.TryCast(this=value.copy(), to=exp.DataType(this=exp.DType.BIGNUM))
        number.meta[KIND] = "DECIMAL"
        text = exp.cast(call("round", number), "VARCHAR")
        return exp.TryCast(this=text, to=to.copy())
    exact = exact_of(value, to, types)
    return None if exact is None else exp.TryCast(this=exact, to=to.copy())


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
