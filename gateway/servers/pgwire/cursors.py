"""DECLARE, FETCH, MOVE and CLOSE: cursors of SQL, which are portals of the protocol by name."""

from __future__ import annotations

import re

from sqlglot.tokenizer_core import TokenType

from gateway.servers.pgwire.scrolling import EVERY, FetchWay
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from rewriter.syntax.tokens import tokenize

_NAME = r'(?P<name>"(?:[^"]|"")+"|\w+)'
_DECLARE = re.compile(
    rf"\s*DECLARE\s+{_NAME}\s+(?P<options>(?:(?:BINARY|ASENSITIVE|INSENSITIVE|NO|SCROLL)\s+)*)CURSOR"
    r"(?:\s+(?P<hold>WITH|WITHOUT)\s+HOLD)?\s+FOR\s+(?P<query>.*)",
    re.IGNORECASE | re.DOTALL,
)
_FETCH = re.compile(
    r"\s*(?P<word>FETCH|MOVE)\b\s*(?:(?P<way>NEXT|PRIOR|FIRST|LAST|ALL|FORWARD|BACKWARD|ABSOLUTE"
    r"|RELATIVE)\b\s*)?(?P<count>ALL\b|[+-]?\d+\b)?\s*"
    rf"(?:(?:FROM|IN)\s+)?{_NAME}\s*;?\s*",
    re.IGNORECASE,
)
_CLOSE = re.compile(rf"\s*CLOSE\s+{_NAME}\s*;?\s*", re.IGNORECASE)
_LATER = re.compile(
    r"\b(DECLARE|FETCH|MOVE|CLOSE)\b.*;\s*\S|;\s*(DECLARE|FETCH|MOVE|CLOSE)\b", re.I | re.S
)
_PLACES = {
    "NEXT": (FetchWay.FORWARD, 1),
    "PRIOR": (FetchWay.BACKWARD, 1),
    "FIRST": (FetchWay.ABSOLUTE, 1),
    "LAST": (FetchWay.ABSOLUTE, -1),
    "ALL": (FetchWay.FORWARD, EVERY),
}
_WORDS = re.compile(r"\s*(DECLARE|FETCH|MOVE|CLOSE)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class DeclareCursor:
    """A new cursor; ``scrolls``: in both directions; ``holds``: beyond its transaction."""

    name: str
    query: str
    scrolls: bool = False
    holds: bool = False

    @property
    def is_kept(self) -> bool:
        """True for one whose rows are kept, as they are read more than once or later."""
        return self.scrolls or self.holds


@dataclass(frozen=True, slots=True)
class FetchCursor:
    """Rows of a cursor from its place on; ``is_move``: pass over them."""

    name: str
    way: FetchWay
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
        query = found["query"].strip().rstrip(";")
        if not query:
            raise PalimpsestError(
                Code.SYNTAX,
                "syntax error at end of input: a cursor has a query",
                advice="DECLARE c CURSOR FOR SELECT ..",
            )
        return DeclareCursor(
            _unquoted(found["name"]),
            query,
            scrolls="SCROLL" in words and "NO" not in words,
            holds=(found["hold"] or "").upper() == "WITH",
        )
    if found := _FETCH.fullmatch(text):
        way, count = _direction((found["way"] or "").upper(), (found["count"] or "").upper())
        return FetchCursor(_unquoted(found["name"]), way, count, found["word"].upper() == "MOVE")
    if found := _CLOSE.fullmatch(text):
        name = _unquoted(found["name"])
        return CloseCursor(None if found["name"].upper() == "ALL" else name)
    raise _not_supported(f"this form of {_WORDS.match(text)[1].upper()}")  # type: ignore[index]


def _direction(word: str, given: str) -> tuple[FetchWay, int]:
    """Which way, and how many rows or to which place; raises NOT_SUPPORTED for other words."""
    if word in _PLACES and not given:
        return _PLACES[word]
    if word in {"ABSOLUTE", "RELATIVE"} and given not in {"", "ALL"}:
        return FetchWay(word.lower()), int(given)
    if word not in {"", "FORWARD", "BACKWARD"}:
        raise _not_supported(f"FETCH {word} {given}".rstrip())
    count = EVERY if given == "ALL" else int(given or 1)
    if count == 0:
        return FetchWay.RELATIVE, 0
    is_back = (word == "BACKWARD") != (count < 0)
    return FetchWay.BACKWARD if is_back else FetchWay.FORWARD, abs(count)


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


def forward_only(name: str) -> PalimpsestError:
    """The error of going back over a cursor that keeps no rows."""
    return PalimpsestError(
        Code.CURSOR_DIRECTION,
        f'the cursor "{name}" can only scan forward',
        advice="declare it with SCROLL",
    )


def _not_supported(what: str) -> PalimpsestError:
    return PalimpsestError(
        Code.NOT_SUPPORTED,
        f"{what} is not supported",
        advice="DECLARE c [SCROLL] CURSOR [WITH HOLD] FOR .., then FETCH n FROM c",
    )
