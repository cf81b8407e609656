r"""Regular expressions of DuckDB's dialect on a PostgreSQL store, which reads others. Pure.

.              any sign but the end of a line
\b, \B, \z     the edge of a word, and the end of the text
\w, \d, \s     signs of ASCII alone
(?i)a, 'i'     whatever the capitals
\0             in a replacement: all that was found
s LIKE 'a\_c'   a backslash escapes nothing

Patterns that are written out only; a computed one is the server's.
"""

from __future__ import annotations

import re

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from rewriter.name_resolution import position_of
from rewriter.reading.duckdb.names import columns_like
from rewriter.reading.duckdb.types import DuckDBTypes

_WORD, _DIGIT, _BLANK = "A-Za-z0-9_", "0-9", r" \t\n\f\r"
_INSIDE = {"w": _WORD, "d": _DIGIT, "s": _BLANK}
_ESCAPES = {
    **{letter: f"[{signs}]" for letter, signs in _INSIDE.items()},
    **{letter.upper(): f"[^{signs}]" for letter, signs in _INSIDE.items()},
    "b": r"\y", "B": r"\Y", "z": r"\Z",
}  # fmt: skip
_PART = re.compile(
    r"\\Q(?P<quoted>.*?)(?:\\E|$)|\\(?P<escape>.)|(?P<open>\[\^?\]?)|\(\?P<\w+>(?P<named>)|(?P<sign>.)",
    re.S,
)
_INNER = re.compile(r"\\(?P<escape>.)|(?P<word>\[:word:\])|(?P<other>\[:\^?\w+:\]|.)", re.S)
_OPTIONS = re.compile(r"\(\?([ims]+)\)")
_QUANTIFIER = re.compile(r"(?:\\.|\[\^?\]?(?:\\.|[^\]\\])*\])|([*+?]|\{\d+,\d*\})(\?)?", re.S)
_TEXTS = re.compile(r"[\w ]+(?:\|[\w ]+)+")
_SPECIAL = re.compile(r"([^\w\s])")
_FLAGS = ("flag", "options", "parameters", "modifiers")
_KNOWN_FLAGS = frozenset("cgilmnps")
_FINDING = (exp.RegexpExtract, exp.RegexpExtractAll, exp.RegexpReplace, exp.RegexpSplit)
PATTERNED = (exp.RegexpLike, exp.RegexpFullMatch, *_FINDING)


def spell_pattern(node: exp.Expr, _: DuckDBTypes) -> exp.Expr | None:
    """A function of a regular expression; raises NOT_SUPPORTED for one that PostgreSQL lacks."""
    pattern = node.expression
    if not isinstance(pattern, exp.Literal) or not pattern.is_string:
        return None
    name = next((n for n in _FLAGS if isinstance(node.args.get(n), exp.Literal)), None)
    flags = "" if name is None else node.args[name].name
    if not {*flags} <= _KNOWN_FLAGS:
        return None
    made = node.copy()
    text = in_words_of_postgres(pattern.name, flags)
    if isinstance(node, _FINDING):
        _check_greed(text, node)
    made.set("expression", exp.Literal.string(text))
    if name is not None:
        made.set(name, exp.Literal.string("g") if "g" in flags else None)
    put = node.args.get("replacement")
    if isinstance(put, exp.Literal) and put.is_string:
        made.set("replacement", exp.Literal.string(re.sub(r"(?<!\\)\\0", r"\\&", put.name)))
    return None if made == node else made


def spell_like(node: exp.Expr, _: DuckDBTypes) -> exp.Expr | None:
    """Without ESCAPE nothing escapes."""
    pattern = node.expression
    if isinstance(node.this, exp.Star):
        return columns_like(node)
    if isinstance(node.parent, exp.Escape) or isinstance(pattern, exp.Any | exp.All | exp.Tuple):
        return None
    if isinstance(pattern, exp.Literal) and "\\" not in pattern.name:
        return None
    return exp.Escape(this=node.copy(), expression=exp.Literal.string(""))


def spell_similar(node: exp.Expr, types: DuckDBTypes) -> exp.Expr | None:
    """``SIMILAR TO``: the whole text, or columns by their names."""
    if isinstance(node.parent, exp.Escape) or isinstance(node.this, exp.Star):
        return columns_like(node)
    made = exp.RegexpFullMatch(this=node.this.copy(), expression=node.expression.copy())
    return spell_pattern(made, types) or made


def in_words_of_postgres(pattern: str, flags: str = "") -> str:
    r"""A pattern of DuckDB's as one of PostgreSQL's.

    >>> in_words_of_postgres(r"(?i)\ba.\d")
    '(?i)\\ya[^\\n][0-9]'
    """
    if "l" in flags:
        return _options(flags) + _SPECIAL.sub(r"\\\1", pattern)
    if _TEXTS.fullmatch(pattern):
        pattern = "|".join(_reached(pattern.split("|")))
    said = _OPTIONS.match(pattern)
    if said is not None:
        flags, pattern = flags + said[1].replace("m", "w"), pattern[said.end() :]
    parts, place = [], 0
    while place < len(pattern):
        found = _PART.match(pattern, place)
        assert found is not None
        place = found.end()
        if found["open"]:
            inside, place = _bracket_rest(pattern, place)
            parts.append(found["open"] + inside)
        elif found["quoted"] is not None:
            parts.append(_SPECIAL.sub(r"\\\1", found["quoted"]))
        elif found["escape"]:
            parts.append(_ESCAPES.get(found["escape"], found[0]))
        elif found["named"] is not None:
            parts.append("(")
        else:
            is_any = found["sign"] == "." and "s" not in flags
            parts.append(r"[^\n]" if is_any else found["sign"])
    return _options(flags) + "".join(parts)


def _options(flags: str) -> str:
    letters = "".join(letter for letter in "iw" if letter in flags)
    return f"(?{letters})" if letters else ""


def _reached(texts: list[str]) -> list[str]:
    """Those of several texts that are ever found: none behind one with which it begins."""
    found: list[str] = []
    for text in texts:
        if not any(text.startswith(before) for before in found):
            found.append(text)
    return found


def _bracket_rest(pattern: str, place: int) -> tuple[str, int]:
    """The rest of a bracket, and where it ends."""
    parts = []
    while place < len(pattern):
        found = _INNER.match(pattern, place)
        assert found is not None
        place = found.end()
        if found["escape"]:
            parts.append(_INSIDE.get(found["escape"], found[0]))
        else:
            parts.append(_WORD if found["word"] else found[0])
        if found[0] == "]":
            break
    return "".join(parts), place


def _check_greed(pattern: str, node: exp.Expr) -> None:
    """Raise for a pattern of which parts take as much as they can and others as little.

    PostgreSQL finds the longest or the shortest of all, as the first part says.
    """
    takes = {bool(found[2]) for found in _QUANTIFIER.finditer(pattern) if found[1]}
    if len(takes) > 1:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            "a PostgreSQL store has no patterns with both greedy and lazy repetitions here",
            advice="write what the lazy part may be: <[^>]*> in the place of <.*?>",
            position=position_of(node),
        )
