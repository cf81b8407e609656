"""Takes the literals out of a statement's text, so that what differs in them alone is planned once.

    UPDATE t SET v = 'x' WHERE k = 5   ->   UPDATE t SET v = ? WHERE k = ?   and   ('x', 5)

Many drivers write values into the text. Only literals are taken that stand alone: as a value of
VALUES, or behind ``=``. Everything else stays in the text as it is, so another reading of it is
impossible: what this module does not understand keeps its literals. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
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
_CELL = re.compile(
    rf"\s*(?P<cell>{_LITERAL}|(?P<null>NULL)\b|(?P<word>(?:DEFAULT|TRUE|FALSE)\b))"
    rf"(?P<type>{_TYPE})\s*(?P<end>[,)])",
    re.IGNORECASE | re.VERBOSE,
)
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
    """A text with ``?`` in the place of literals, and their values; several rows of VALUES."""

    text: str
    rows: tuple[tuple[Any, ...], ...]


def take_literals(text: str) -> TakenLiterals | None:
    """The text and its literals; None where it has none that can be taken.

    >>> take_literals("INSERT INTO t VALUES (1, 'it''s', NULL)")
    TakenLiterals(text='INSERT INTO t VALUES (?, ?, ?)', rows=((1, "it's", None),))
    >>> take_literals("UPDATE t SET n = n + 1 WHERE k = 7")
    TakenLiterals(text='UPDATE t SET n = n + 1 WHERE k = ?', rows=((7,),))
    >>> take_literals("SELECT 5") is None
    True
    """
    head = _INSERT.match(text)
    if head is not None:
        return _of_insert(text, head.end())
    if len(text) > _CHARS_MAX or not _BY_KEY.match(text):
        return None
    return _of_comparisons(text)


def _of_insert(text: str, start: int) -> TakenLiterals | None:
    at = start
    rows: list[_Row] = []
    if text[at : at + 1] != "(":
        return None
    while True:
        row = _row_at(text, at + 1)
        if row is None or (rows and row.shape != rows[0].shape):
            return None
        rows.append(row)
        at = row.end
        following = _NEXT_ROW.match(text, at)
        if following is None:
            break
        at = following.end() - 1
    tail = _TAIL if len(rows) == 1 else _NO_TAIL
    if not rows[0].values or tail.fullmatch(text, at) is None:
        return None
    return TakenLiterals(
        f"{text[:start]}({rows[0].text}{text[at:]}", tuple(row.values for row in rows)
    )


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of VALUES: its text up to its bracket, without and with its spaces, and its values."""

    shape: str
    text: str
    values: tuple[Any, ...]
    end: int


def _row_at(text: str, at: int) -> _Row | None:
    """The row of VALUES whose first value is at a place; None for one of other values."""
    shape: list[str] = []
    parts: list[str] = []
    values: list[Any] = []
    while (cell := _CELL.match(text, at)) is not None:
        shown = cell["word"] or "?"
        if cell["word"] is None:
            values.append(_value(cell))
        shape.append(shown + cell["type"])
        parts += [text[at : cell.start("cell")], shown, text[cell.end("cell") : cell.end()]]
        at = cell.end()
        if cell["end"] == ")":
            return _Row(",".join(shape), "".join(parts), tuple(values), at)
    return None


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
            values.append(_value(token))
            at = token.end()
    if not values:
        return None
    return TakenLiterals("".join([*parts, text[at:]]), (tuple(values),))


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


def _value(literal: re.Match[str]) -> Any:
    if literal["integer"] is not None:
        return int(literal["integer"])
    if literal["decimal"] is not None:
        return Decimal(literal["decimal"])
    text = literal["text"]
    return None if text is None else text.replace("''", "'")
