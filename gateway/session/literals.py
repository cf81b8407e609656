"""Takes the literals out of a statement's text, so that what differs in them alone is planned once.

    UPDATE t SET v = 'x' WHERE k = 5   ->   UPDATE t SET v = ? WHERE k = ?   and   ('x', 5)

Many drivers write values into the text. Only literals are taken that stand alone: as a value of
VALUES, or behind ``=``. Everything else stays in the text as it is, so another reading of it is
impossible: what this module does not understand keeps its literals. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field
from decimal import Decimal
from functools import lru_cache
from itertools import starmap
from typing import Any

from journal.model.lazy_dataclass import dataclass

_NAME = r'(?:"[^"\n]+"|`[^`\n]+`|[^\W\d]\w*)'
_PATH = rf"{_NAME}(?:\.{_NAME}){{0,2}}"
_NAMES = rf"{_NAME}(?:\s*,\s*{_NAME})*"
_TYPE = r"(?:\s*::\s*[A-Za-z]\w*(?:\(\s*\d+(?:\s*,\s*\d+)?\s*\))?)?"
_LITERAL = r"""
    (?P<integer>-?\d{1,18})(?![\w.])
  | (?P<decimal>-?\d{1,18}\.\d{1,18})(?![\w.])
  | '(?P<text>(?:[^'\\]|'')*)'
"""
_INSERT = re.compile(
    rf"\s*INSERT\s+INTO\s+{_PATH}\s*(?:\(\s*{_NAMES}\s*\)\s*)?VALUES\s*", re.IGNORECASE
)
_NAMED = r"(?:(?P<named>DATE|TIMESTAMP)\s+(?='))?"
"""The type of a text that stands in front of it."""
_CELL = re.compile(
    rf"\s*{_NAMED}(?P<cell>{_LITERAL}|(?P<null>NULL)\b|(?P<word>(?:DEFAULT|TRUE|FALSE)\b))"
    rf"(?P<type>{_TYPE})\s*(?P<end>[,)])",
    re.IGNORECASE | re.VERBOSE,
)
_ONE_LITERAL = r"(-?\d{1,18}(?:\.\d{1,18})?(?![\w.])|'(?:[^'\\]|'')*'|(?i:NULL)\b)"
_ONE_TEXT = r"('(?:[^'\\]|'')*')"
_NEXT_ROW = re.compile(r"\s*,\s*\(")
_UPSERT = (
    rf"ON\s+CONFLICT\s*(?:\(\s*{_NAMES}\s*\)\s*)?DO\s+(?:NOTHING|UPDATE\s+SET\s+"
    rf"{_NAME}\s*=\s*EXCLUDED\.{_NAME}(?:\s*,\s*{_NAME}\s*=\s*EXCLUDED\.{_NAME})*)"
)
_RETURNING = rf"RETURNING\s+(?:\*|{_PATH}(?:\s*,\s*{_PATH})*)"
_TAIL = re.compile(rf"\s*(?:{_UPSERT}\s*)?(?:{_RETURNING}\s*)?;?\s*", re.IGNORECASE)
_NO_TAIL = re.compile(r"\s*;?\s*")
_BY_KEY = re.compile(r"\s*(?:UPDATE|DELETE|SELECT)\b", re.IGNORECASE)
_TOKEN = re.compile(
    rf"""
    {_LITERAL} | (?P<name>{_NAME}) | (?P<space>\s+) | (?P<equals>=)
  | (?P<sign>[-+*/<>%|:.,();\[\]]|\d[\w.]*)
    """,
    re.VERBOSE,
)
_LITERALS = frozenset({"integer", "decimal", "text"})
_CHARS_MAX = 10_000
"""Of a statement that looks rows up; one of VALUES may have as many as it likes."""
_ENDS = frozenset({"AND", "WHERE", "ORDER", "LIMIT", "FOR", "RETURNING", ",", ")", ";", ""})
"""What may follow a literal that is compared or assigned by itself."""


@dataclass(frozen=True, slots=True)
class TakenLiterals:
    """A text with ``?`` in the place of literals, and their values; several rows of VALUES.

    ``shown`` is the text as people know it: types stand where the client wrote them.
    """

    text: str
    rows: tuple[tuple[Any, ...], ...]
    shown: str = field(repr=False)


def take_literals(text: str, *, casts_alike: bool = True) -> TakenLiterals | None:
    """The text and its literals; None where it has none that can be taken.

    ``casts_alike``: a text behind the name of a type means what it does before ``::`` and that.

    >>> take_literals("INSERT INTO t VALUES (1, 'it''s', NULL)")
    TakenLiterals(text='INSERT INTO t VALUES (?, ?, ?)', rows=((1, "it's", None),))
    >>> take_literals("UPDATE t SET n = n + 1 WHERE k = 7")
    TakenLiterals(text='UPDATE t SET n = n + 1 WHERE k = ?', rows=((7,),))
    >>> take_literals("INSERT INTO t VALUES (DATE '2024-02-29')").text
    'INSERT INTO t VALUES (?::DATE)'
    >>> take_literals("SELECT 5") is None
    True
    """
    head = _INSERT.match(text)
    if head is not None:
        return _of_insert(text, head.end(), casts_alike)
    if len(text) > _CHARS_MAX or not _BY_KEY.match(text):
        return None
    return _of_comparisons(text)


def _of_insert(text: str, start: int, casts_alike: bool) -> TakenLiterals | None:
    first = _row_at(text, start + 1) if text[start : start + 1] == "(" else None
    if first is None or not first.values:
        return None
    if not casts_alike and any(named for _, _, named in first.shape):
        return None
    at, rows = first.end, [first.values]
    if _NEXT_ROW.match(text, at):
        like_the_first = _row_behind(first.shape)
        while (row := like_the_first.match(text, at)) is not None:
            rows.append(tuple(map(_value, row.groups())))
            at = row.end()
    # A row of another shape is no tail.
    tail = _TAIL if len(rows) == 1 else _NO_TAIL
    if tail.fullmatch(text, at) is None:
        return None
    found, shown = (f"{text[:start]}({row}{text[at:]}" for row in (first.text, first.shown))
    return TakenLiterals(found, tuple(rows), shown)


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of VALUES: its texts up to its bracket, with ``?`` for literals, and their values.

    ``shape`` has of each cell its word, empty for a literal, the type that it is cast to, and the
    one that stands in front of it.
    """

    shape: tuple[tuple[str, str, str], ...]
    text: str
    shown: str
    values: tuple[Any, ...]
    end: int


def _row_at(text: str, at: int) -> _Row | None:
    """The row of VALUES whose first value is at a place; None for one of other values."""
    shape: list[tuple[str, str, str]] = []
    found = shown = ""
    values: list[Any] = []
    while (cell := _CELL.match(text, at)) is not None:
        word, named = cell["word"] or "", cell["named"] or ""
        if named and cell["type"]:
            return None
        if not word:
            values.append(_value(cell["cell"]))
        shape.append((word, cell["type"], named))
        before, behind = text[at : cell.start("cell")], text[cell.end("cell") : cell.end()]
        shown += f"{before}{word or '?'}{behind}"
        found += f"?::{named}{behind}" if named else f"{before}{word or '?'}{behind}"
        at = cell.end()
        if cell["end"] == ")":
            return _Row(tuple(shape), found, shown, tuple(values), at)
    return None


@lru_cache(maxsize=64)
def _row_behind(shape: tuple[tuple[str, str, str], ...]) -> re.Pattern[str]:
    """One more row of a shape, with a group for each literal: one match, not one for each cell."""
    inside = r"\s*,\s*".join(starmap(_cell_behind, shape))
    return re.compile(rf"{_NEXT_ROW.pattern}\s*{inside}\s*\)")


def _cell_behind(word: str, kind: str, named: str) -> str:
    """The pattern of one more cell of a shape."""
    if named:
        return rf"{named}\s+{_ONE_TEXT}"
    return (re.escape(word) if word else _ONE_LITERAL) + re.escape(kind)


def _of_comparisons(text: str) -> TakenLiterals | None:
    parts: list[str] = []
    values: list[Any] = []
    tokens = list(_significant(text))
    if not tokens:
        return None
    at = 0
    words = [token.group().upper() for token in tokens]
    # An output may be called by its text.
    is_shown = words[0] == "SELECT"
    for place, token in enumerate(tokens):
        is_shown = words[place] == "RETURNING" or (is_shown and words[place] != "WHERE")
        if is_shown or token.lastgroup not in _LITERALS or words[place - 1 : place] != ["="]:
            continue
        if _end_behind(words, place + 1) in _ENDS:
            parts += [text[at : token.start()], "?"]
            values.append(_value(token.group()))
            at = token.end()
    if not values:
        return None
    found = "".join([*parts, text[at:]])
    return TakenLiterals(found, (tuple(values),), found)


def _end_behind(words: list[str], place: int) -> str:
    """What stands behind a literal, or behind the type that it is cast to."""
    if words[place : place + 2] == [":", ":"]:
        place += 3
    return words[place] if place < len(words) else ""


def _significant(text: str) -> Iterator[re.Match[str]]:
    """The tokens of a text but its spaces; none if one of them is unknown here."""
    found: list[re.Match[str]] = []
    at = 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None or text.startswith(("--", "/*"), at):
            return
        if token["space"] is None:
            found.append(token)
        at = token.end()
    yield from found


def _value(literal: str) -> Any:
    """What a number, a text in quotes or NULL stands for."""
    if literal[0] == "'":
        return literal[1:-1].replace("''", "'")
    if literal[0] in "Nn":
        return None
    return Decimal(literal) if "." in literal else int(literal)
