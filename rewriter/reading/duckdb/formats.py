"""``format`` and ``printf`` of DuckDB's dialect on a PostgreSQL store. Pure.

format('{:.2f}', x)      fixed(x, 2), as C writes a DOUBLE
format('{:,}', n)        grouped(n::VARCHAR)
printf('%05d', n)        aligned(n::VARCHAR, 5, '0', '0')
format('{}', 0.0)        0.0

Patterns without widths, and of values whose texts are PostgreSQL's as well, are the adapter's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import reduce

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.sql.builders import call, fill
from rewriter.functions import function_name
from rewriter.name_resolution import position_of
from rewriter.reading.duckdb.casts import text_of
from rewriter.reading.duckdb.types import FLOATS, TEXTS, WHOLE, DuckDBTypes

_BRACES = re.compile(r"\{\{|\}\}|\{(?P<place>\d*)(?::(?P<how>[^{}]*))?\}")
_PERCENT = re.compile(r"%%|%(?P<how>[-+0 ,]*\d*(?:\.\d+)?[a-zA-Z])")
_OF_BRACES = re.compile(
    r"(?:(?P<fill>.)?(?P<align>[<>^]))?(?P<sign>\+)?(?P<zero>0)?(?P<width>\d+)?(?P<comma>,)?"
    r"(?:\.(?P<places>\d+))?(?P<type>[a-zA-Z])?"
)
_OF_PERCENT = re.compile(
    r"(?P<flags>[-+0 ,]*)(?P<width>\d+)?(?:\.(?P<places>\d+))?(?P<type>[a-zA-Z])"
)
_NUMBERS = frozenset({*FLOATS, "DECIMAL"})
_LETTERS = frozenset({"", "s", "d", "i", "f", "x", "X"})
_C_PLACES, _PLACES_MAX = 6, 14
"""Digits behind the point where a pattern says none, and how many PostgreSQL's to_char has."""


@dataclass(frozen=True, slots=True)
class _Form:
    """How a value is written: its letter, digits, sign, and the place that it fills."""

    type: str = ""
    places: int | None = None
    has_plus: bool = False
    is_grouped: bool = False
    width: int = 0
    filling: str = " "
    align: str = ""


def spell_format(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """A text with values in it; None where the adapter says the same.

    Raises BIND for a form that the type of a value does not have, NOT_SUPPORTED for others.
    """
    is_printf = function_name(node) == "printf"
    if not is_printf and not isinstance(node, exp.Format):
        return None
    pattern, *values = node.expressions if is_printf else [node.this, *node.expressions]
    if not isinstance(pattern, exp.Literal) or not pattern.is_string:
        return None
    parts = list(_parts(pattern.name, _PERCENT if is_printf else _BRACES, node))
    places = [part for part in parts if not isinstance(part, str)]
    plain = {_Form(), _Form(type="s"), _Form(type="d")}
    in_order = [place for place, _ in places] == list(range(len(places)))
    is_own = (
        in_order
        and len(places) <= len(values)
        and all(form in plain and _is_plain(values[place], form, types) for place, form in places)
    )
    if any(place >= len(values) for place, _ in places) or is_own:
        return None
    made = [
        exp.Literal.string(part) if isinstance(part, str) else _shown_value(values, *part, types)
        for part in parts
        if part
    ]
    return exp.paren(reduce(lambda a, b: exp.DPipe(this=a, expression=b), made), copy=False)


def _is_plain(value: exp.Expr, form: _Form, types: DuckDBTypes) -> bool:
    """True for a value whose text is PostgreSQL's as well."""
    kind = types.kind_of(value)
    if kind == "BOOLEAN":
        return form.type != "d"
    return kind not in _NUMBERS and text_of(value, types) is value


def _parts(text: str, how: re.Pattern[str], node: exp.Expr) -> Iterator[str | tuple[int, _Form]]:
    """The parts of a pattern: texts, and the numbers of values with their forms."""
    end = number = 0
    for found in how.finditer(text):
        yield text[end : found.start()]
        end = found.end()
        if found[0] in {"{{", "}}", "%%"}:
            yield found[0][0]
            continue
        place = found.groupdict().get("place") or number
        number += 1
        form = _percent_form(found["how"]) if how is _PERCENT else _brace_form(found["how"] or "")
        if form is None or form.type not in _LETTERS or (form.places or 0) > _PLACES_MAX:
            raise _refusal(Code.NOT_SUPPORTED, f"has no {found[0]} in format() and printf()", node)
        yield int(place), form
    yield text[end:]


def _brace_form(how: str) -> _Form | None:
    found = _OF_BRACES.fullmatch(how)
    if found is None:
        return None
    zero = bool(found["zero"]) and not found["align"]
    return _Form(
        found["type"] or "",
        None if found["places"] is None else int(found["places"]),
        bool(found["sign"]),
        bool(found["comma"]),
        int(found["width"] or 0),
        "0" if zero else found["fill"] or " ",
        "0" if zero else found["align"] or "",
    )


def _percent_form(how: str) -> _Form | None:
    found = _OF_PERCENT.fullmatch(how)
    if found is None:
        return None
    flags = found["flags"]
    zero = "0" in flags and "-" not in flags
    align = "<" if "-" in flags else "0" if zero else ">"
    return _Form(
        found["type"],
        None if found["places"] is None else int(found["places"]),
        "+" in flags,
        "," in flags,
        int(found["width"] or 0),
        "0" if zero else " ",
        align if found["width"] else "",
    )


def _shown_value(values: list[exp.Expr], place: int, form: _Form, types: DuckDBTypes) -> exp.Expr:
    """The text of a value in a form."""
    value = values[place]
    kind = types.kind_of(value)
    is_number = kind in _NUMBERS or kind in WHOLE or form.type in {"d", "i", "f", "x", "X"}
    made = _text(value, kind, form, types)
    if form.is_grouped:
        made = call("grouped", made)
    if form.has_plus:
        made = fill("(CASE WHEN t LIKE '-%' THEN t ELSE '+' || t END)", t=made)
    if form.width:
        align = form.align or (">" if is_number else "<")
        made = call("aligned", made, form.width, form.filling, align)
    return made


def _check_form(kind: str | None, form: _Form, value: exp.Expr) -> None:
    """Raise BIND for a form that values of a type do not have."""
    is_exact = kind in {*WHOLE, "BOOLEAN"}
    has_digits = form.type == "f" or form.places is not None
    if (is_exact and has_digits) or (kind in _NUMBERS and form.type not in {"", "f"}):
        what = f"cannot write a value of type {kind} so in format() and printf()"
        raise _refusal(Code.BIND, what, value)


def _text(value: exp.Expr, kind: str | None, form: _Form, types: DuckDBTypes) -> exp.Expr:
    if kind == "BOOLEAN" and form.type in {"d", "i"}:
        return exp.cast(exp.cast(value.copy(), "INT"), "VARCHAR")
    _check_form(kind, form, value)
    if form.type == "f" or (kind in _NUMBERS and form.places is not None):
        places = _C_PLACES if form.places is None else form.places
        return call("fixed", exp.cast(value.copy(), "DOUBLE"), places)
    if form.type in {"x", "X"}:
        digits = "(CASE WHEN n < 0 THEN '-' ELSE '' END || hex(abs(n)))"
        written = fill(digits, n=exp.cast(value.copy(), "BIGINT"))
        return call("lower", written) if form.type == "x" else written
    if kind in _NUMBERS:
        return call("shown", exp.cast(value.copy(), "DOUBLE"))
    shown = text_of(value, types)
    text = shown.copy() if kind in TEXTS and shown is value else exp.cast(shown.copy(), "VARCHAR")
    return text if form.places is None else call("left", text, form.places)


def _refusal(code: Code, what: str, node: exp.Expr) -> PalimpsestError:
    return PalimpsestError(
        code,
        what if code is Code.BIND else f"a PostgreSQL store {what}",
        advice="cast the value to the type of the form, or join the parts with ||",
        position=position_of(node),
    )
