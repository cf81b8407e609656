"""DECLARE, FETCH, MOVE and CLOSE: cursors of SQL, which are portals of the protocol by name."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlglot.tokenizer_core import TokenType

from journal.model.errors import Code, PalimpsestError
from rewriter.syntax.tokens import tokenize

_NAME = r'(?P<name>"(?:[^"]|"")+"|\w+)'
_DECLARE = re.compile(
    rf"\s*DECLARE\s+{_NAME}\s+(?P<options>(?:(?:BINARY|ASENSITIVE|INSENSITIVE|NO|SCROLL)\s+)*)CURSOR"
    r"(?:\s+(?P<hold>WITH|WITHOUT)\s+HOLD)?\s+FOR\s+(?P<query>.*)",
    re.IGNORECASE | re.DOTALL,
)
_FETCH = re.compile(
    r"\s*(?P<word>FETCH|MOVE)\b\s*(?P<way>NEXT|FORWARD\s+ALL|FORWARD|ALL)?\s*(?P<count>\d+)?\s*"
    rf"(?:(?:FROM|IN)\s+)?{_NAME}\s*;?\s*",
    re.IGNORECASE,
)
_CLOSE = re.compile(rf"\s*CLOSE\s+{_NAME}\s*;?\s*", re.IGNORECASE)
_LATER = re.compile(
    r"\b(DECLARE|FETCH|MOVE|CLOSE)\b.*;\s*\S|;\s*(DECLARE|FETCH|MOVE|CLOSE)\b", re.I | re.S
)
_WORDS = re.compile(r"\s*(DECLARE|FETCH|MOVE|CLOSE)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class DeclareCursor:
    """A new cursor of a query."""

    name: str
    query: str


@dataclass(frozen=True, slots=True)
class FetchCursor:
    """The next rows of a cursor, 0 for all; ``is_move``: pass over them."""

    name: str
    count: int
    is_move: bool


@dataclass(frozen=True, slots=True)
class CloseCursor:
    """Forget a cursor, all of them without a name."""

    name: str | None


CursorCommand = DeclareCursor | FetchCursor | CloseCursor


def cursor_command(text: str) -> CursorCommand | None:
    """The command that a text is, None for another statement; raises NOT_SUPPORTED."""
    if _WORDS.match(text) is None:
        return None
    if found := _DECLARE.fullmatch(text):
        words = found["options"].upper().split()
        if (found["hold"] or "").upper() == "WITH":
            raise _not_supported("a cursor WITH HOLD")
        if "SCROLL" in words and "NO" not in words:
            raise _not_supported("a SCROLL cursor")
        return DeclareCursor(_unquoted(found["name"]), found["query"].rstrip().rstrip(";"))
    if found := _FETCH.fullmatch(text):
        way = " ".join((found["way"] or "").upper().split())
        count = int(found["count"]) if found["count"] else 0 if way.endswith("ALL") else 1
        if found["count"] == "0":
            raise _not_supported("FETCH 0")
        return FetchCursor(_unquoted(found["name"]), count, found["word"].upper() == "MOVE")
    if found := _CLOSE.fullmatch(text):
        name = _unquoted(found["name"])
        return CloseCursor(None if found["name"].upper() == "ALL" else name)
    raise _not_supported(f"this form of {_WORDS.match(text)[1].upper()}")  # type: ignore[index]


def split_at_cursors(text: str) -> list[str]:
    """The statements of a text if one of several is about a cursor, else the text itself."""
    if not _LATER.search(text):
        return [text]
    tokens = tokenize(text, "postgres")
    ends = [token.start for token in tokens if token.token_type is TokenType.SEMICOLON]
    starts = [0, *(end + 1 for end in ends)]
    found = [text[start:end] for start, end in zip(starts, [*ends, len(text)], strict=True)]
    return [piece for piece in found if piece.strip()]


def _unquoted(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name.lower()


def _not_supported(what: str) -> PalimpsestError:
    return PalimpsestError(
        Code.NOT_SUPPORTED,
        f"{what} is not supported: cursors go forward, and end with their transaction",
        advice="DECLARE c CURSOR FOR .. inside a transaction, then FETCH n FROM c",
    )
