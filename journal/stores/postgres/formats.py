"""Formats of moments (``%Y-%m-%d``) as PostgreSQL spells them, for strftime and strptime. Pure.

All that is no directive stands in quotes, since PostgreSQL takes letters like ``Y`` for a part of
the moment. What it has no pattern for is refused.
"""

from __future__ import annotations

import re

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.sql.builders import call, fill

_DIRECTIVE = re.compile(r"%(-?[a-zA-Z%])")
_PATTERNS = {
    "Y": "YYYY",
    "y": "YY",
    "m": "MM",
    "d": "DD",
    "H": "HH24",
    "I": "HH12",
    "M": "MI",
    "S": "SS",
    "f": "US",
    "g": "MS",
    "p": "AM",
    "a": "Dy",
    "A": "FMDay",
    "b": "Mon",
    "B": "FMMonth",
    "j": "DDD",
    "u": "ID",
    "V": "IW",
    "G": "IYYY",
    "-m": "FMMM",
    "-d": "FMDD",
    "-H": "FMHH24",
    "-I": "FMHH12",
    "-M": "FMMI",
    "-S": "FMSS",
    "-j": "FMDDD",
}
_TOGETHER = {"c": "%Y-%m-%d %H:%M:%S", "x": "%Y-%m-%d", "X": "%H:%M:%S"}


def format_moment(node: exp.Expr) -> exp.Expr | None:
    """``strftime``."""
    return call("to_char", node.this, _postgres_format(node.args.get("format")))


def parse_moment(node: exp.Expr) -> exp.Expr | None:
    """``strptime``: a moment that is read from a text has no time zone, unless the text has one.

    Where the text says no year it is 1900.
    """
    how = node.args.get("format")
    if isinstance(how, exp.Literal) and "%z" in how.name:
        return None
    spelt, text = _postgres_format(how), node.this
    if "YY" not in spelt:
        spelt = f"YYYY {spelt}"
        text = fill("'1900 ' || (x)", x=text)
    return exp.cast(call("to_timestamp", text, spelt), "TIMESTAMP")


def _postgres_format(how: exp.Expr | None) -> str:
    if not isinstance(how, exp.Literal) or not how.is_string:
        raise _refusal("formats of moments that are not written in the statement", "write it there")
    found = how.name
    for short, long in _TOGETHER.items():
        found = found.replace(f"%{short}", long)
    parts, end = [], 0
    for match in _DIRECTIVE.finditer(found):
        parts.append(_quote_literal(found[end : match.start()]))
        parts.append(_pattern(match[1]))
        end = match.end()
    return "".join([*parts, _quote_literal(found[end:])])


def _pattern(directive: str) -> str:
    if directive == "%":
        return _quote_literal("%")
    if directive not in _PATTERNS:
        raise _refusal(f"%{directive} in formats of moments", "take the part with date_part")
    return _PATTERNS[directive]


def _quote_literal(text: str) -> str:
    """Text as it is; what is no letter needs no quotes, and none when it separates digits."""
    if not any(letter.isalnum() or letter in '%"\\' for letter in text):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _refusal(what: str, advice: str) -> PalimpsestError:
    return PalimpsestError(Code.NOT_SUPPORTED, f"a PostgreSQL store has no {what}", advice=advice)
