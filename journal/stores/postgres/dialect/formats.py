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
    "-y": "FMYY",
}
_TOGETHER = {"c": "%Y-%m-%d %H:%M:%S", "x": "%Y-%m-%d", "X": "%H:%M:%S"}


_SHAPES = {
    "Y": r"\d{1,4}", "G": r"\d{4}", "f": r"\d{1,6}", "g": r"\d{1,3}", "j": r"\d{1,3}",
    "u": r"\d", "p": "[ap]m", "a": "[a-z]{3}", "b": "[a-z]{3}", "A": "[a-z]+", "B": "[a-z]+",
}  # fmt: skip
"""What a text has where a directive reads it; others read two digits at most."""
_COMPUTED = {
    "w": "CAST(EXTRACT(DOW FROM x) AS TEXT)",
    "U": "LPAD(CAST(DIV(EXTRACT(DOY FROM x) + 6 - EXTRACT(DOW FROM x), 7) AS TEXT), 2, '0')",
    "W": "LPAD(CAST(DIV(EXTRACT(DOY FROM x) + 7 - EXTRACT(ISODOW FROM x), 7) AS TEXT), 2, '0')",
}
"""Directives that PostgreSQL has no pattern for, of a moment ``x``."""
_PARTS = re.compile(f"(?<!%)((?:%%)*)%([{''.join(_COMPUTED)}])")


def format_moment(node: exp.Expr) -> exp.Expr | None:
    """``strftime``, which takes the format and the moment in any order."""
    moment, how = node.this, node.args.get("format")
    if isinstance(moment, exp.Literal) and not isinstance(how, exp.Literal):
        moment, how = how, moment
    if not isinstance(how, exp.Literal) or not _PARTS.search(how.name):
        return call("to_char", moment, _postgres_format(how))
    pieces: list[exp.Expr] = []
    end = 0
    for found in _PARTS.finditer(how.name):
        before = how.name[end : found.start()] + found[1]
        if before:
            pieces.append(call("to_char", moment, _postgres_format(exp.Literal.string(before))))
        pieces.append(fill(_COMPUTED[found[2]], "postgres", x=exp.paren(moment.copy())))
        end = found.end()
    if end < len(how.name):
        rest = exp.Literal.string(how.name[end:])
        pieces.append(call("to_char", moment, _postgres_format(rest)))
    joined = pieces[0]
    for piece in pieces[1:]:
        joined = exp.DPipe(this=joined, expression=piece)
    return exp.paren(joined, copy=False)


def parse_moment(node: exp.Expr) -> exp.Expr | None:
    """``strptime``: a moment that is read from a text has no time zone, unless the text has one.

    Where the text says no year it is 1900.
    """
    how = node.args.get("format")
    if isinstance(how, exp.Literal) and "%z" in how.name:
        return None
    return _parsed("parsed_moment", node.this, how)


def try_moment(node: exp.Expr) -> exp.Expr | None:
    """``try_strptime``: NULL for a text that has another form."""
    return _parsed("tried_moment", *node.expressions)


def _parsed(name: str, text: exp.Expr, how: exp.Expr | None) -> exp.Expr:
    spelt, before = _postgres_format(how), ""
    assert isinstance(how, exp.Literal)
    if "YY" not in spelt:
        spelt, before = f"YYYY {spelt}", "1900 "
    schema = exp.to_identifier("_palimpsest", quoted=True)
    made = call(name, exp.cast(text.copy(), "TEXT"), _shape(how.name), before, spelt)
    moment = exp.Dot(this=schema, expression=made)
    return fill(_FROM_1969, "postgres", m=moment) if "%y" in _spelt_out(how.name) else moment


_FROM_1969 = "(CASE WHEN EXTRACT(YEAR FROM m) = 2069 THEN m - INTERVAL '100 years' ELSE m END)"
"""Two digits of a year from 69 on are of the century before; PostgreSQL says so from 70 on."""


def _shape(how: str) -> str:
    """A regular expression of the texts of a format."""
    how = _spelt_out(how)
    parts, end = [], 0
    for match in _DIRECTIVE.finditer(how):
        parts.append(_literal_shape(how[end : match.start()]))
        letter = match[1].removeprefix("-")
        parts.append("%" if letter == "%" else _SHAPES.get(letter, r"\d{1,2}"))
        end = match.end()
    return rf"^\s*{''.join(parts)}{_literal_shape(how[end:])}\s*$"


def _literal_shape(text: str) -> str:
    parts = re.split(r"(\s+)", text)
    return "".join(r"\s+" if part.isspace() else re.escape(part) for part in parts)


def _spelt_out(how: str) -> str:
    for short, long in _TOGETHER.items():
        how = how.replace(f"%{short}", long)
    return how


def _postgres_format(how: exp.Expr | None) -> str:
    if not isinstance(how, exp.Literal) or not how.is_string:
        raise _refusal("formats of moments that are not written in the statement", "write it there")
    found = _spelt_out(how.name)
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
