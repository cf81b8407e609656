"""The forms of an identifier: as a request names it, as a row holds it, and as both are compared.

Text is compared character by character: neither case nor blanks mean anything where the descriptor
says LOWER, and nothing else is made alike (an accent is its own character, or part of one, as it
was written). In columns of whole numbers it is the number that counts, so 007 names the 7 there,
and in columns of text 007 alone. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Protocol

from sqlglot import exp

_BLANKS = " \t\n\r\x0b\x0c"
_CAPITALS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_FOLD = str.maketrans(_CAPITALS, _CAPITALS.lower())
_WHOLE = re.compile(r"(-?)0*([0-9]+)")


class IdentifierForm(Protocol):
    """Gives an identifier in a row as text in the form in which it is compared."""

    def __call__(self, value: exp.Expr, *, lower: bool) -> exp.Expr: ...


def normal(value: exp.Expr, *, lower: bool) -> exp.Expr:
    """An identifier in a row as text in the form in which it is compared."""
    text = exp.cast(value, "VARCHAR", dialect="duckdb")
    if not lower:
        return text
    bare = _call("trim", text, exp.Literal.string(_BLANKS))
    letters = [exp.Literal.string(_CAPITALS), exp.Literal.string(_CAPITALS.lower())]
    return _call("translate", bare, *letters)


def normal_in_duckdb(value: exp.Expr, *, lower: bool) -> exp.Expr:
    """The same for DuckDB, which takes fourteen times as long to translate letters as to lower
    them: most identifiers are ASCII without blanks around, whose letters both leave alike.
    """
    form = normal(value, lower=lower)
    if not lower:
        return form
    text = exp.cast(value.copy(), "VARCHAR", dialect="duckdb")
    first = exp.Literal.string("!")
    is_other = exp.or_(
        exp.NEQ(this=_call("strlen", text), expression=_call("length", text.copy())),
        exp.LT(this=text.copy(), expression=first),
        exp.LT(this=_call("right", text.copy(), exp.Literal.number(1)), expression=first.copy()),
    )
    return exp.Case().when(is_other, form).else_(_call("lower", text.copy()))


def texts_of(values: Iterable[str], *, lower: bool) -> list[str]:
    """Identifiers that a request names, each once, in the form in which text is compared."""
    if not lower:
        return list(dict.fromkeys(values))
    bare = [value.strip(_BLANKS) for value in values]
    if "".join(bare).isascii():
        return list(dict.fromkeys(map(str.lower, bare)))
    return list(dict.fromkeys(value.translate(_FOLD) for value in bare))


def numbers_of(values: Iterable[str]) -> list[str]:
    """Those that are whole numbers, each once, as a store writes them."""
    found = dict.fromkeys(
        "0" if match[2] == "0" else match[1] + match[2]
        for match in (_WHOLE.fullmatch(value.strip(_BLANKS)) for value in values)
        if match is not None
    )
    return list(found)


def _call(name: str, *arguments: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=list(arguments))
