"""What a statement says of a sequence, read from its tokens.

AS type, START [WITH] n, INCREMENT [BY] n, [NO] MINVALUE [n], [NO] MAXVALUE [n], CACHE n,
[NO] CYCLE, OWNED BY table.column | NONE, RESTART [[WITH] n]
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from journal.model.lazy_dataclass import dataclass
from rewriter.syntax.token_reader import Parse, TokenReader

_SIZES = {"START": ("start", "WITH"), "INCREMENT": ("increment", "BY"), "CACHE": ("cache", "")}
_BOUNDS = {"MINVALUE": "minimum", "MAXVALUE": "maximum"}
_TYPES = {
    **dict.fromkeys(("SMALLINT", "INT2"), "SMALLINT"),
    **dict.fromkeys(("INT", "INTEGER", "INT4"), "INT"),
    **dict.fromkeys(("BIGINT", "INT8"), "BIGINT"),
}


@dataclass(frozen=True, slots=True)
class SequenceOptions:
    """What a statement says of a sequence; ``said`` are the names of what it says.

    None for a bound: that of the type. ``owner`` None: OWNED BY NONE. ``restart`` None: RESTART
    with the value it starts with.
    """

    said: frozenset[str] = frozenset()
    type: str | None = None
    start: int | None = None
    increment: int | None = None
    minimum: int | None = None
    maximum: int | None = None
    cache: int | None = None
    cycles: bool = False
    owner: exp.Column | None = None
    restart: int | None = None


def sequence_options(tokens: list[Token], parse: Parse) -> SequenceOptions:
    """The options of a sequence that these tokens are."""
    return SequenceReader(tokens, parse, 0).options()


@dataclass(slots=True)
class SequenceReader(TokenReader):
    """Goes through the tokens of a statement about a sequence."""

    advice: str = "see docs/definitions.md for the options of a sequence"
    said: dict[str, Any] = field(default_factory=dict)

    def options(self) -> SequenceOptions:
        """The options up to the end; raises SYNTAX for what is none, or is said twice."""
        while self.place < len(self.tokens):
            before = self.place
            name, value = self._option()
            if name in self.said:
                self.place = before
                raise self.error("an option is given twice")
            self.said[name] = value
        return SequenceOptions(frozenset(self.said), **self.said)

    def _option(self) -> tuple[str, Any]:
        no = self.takes("NO")
        for word, bound in _BOUNDS.items():
            if self.takes(word):
                return bound, None if no else self.number()
            if not no and self.takes(f"NO{word}"):
                return bound, None
        if self.takes("CYCLE"):
            return "cycles", not no
        if not no and self.takes("NOCYCLE"):
            return "cycles", False
        if no:
            raise self.error("MINVALUE, MAXVALUE or CYCLE was expected")
        for word, (size, filler) in _SIZES.items():
            if self.takes(word):
                self.takes(filler)
                return size, self.number()
        if self.takes("RESTART"):
            said = self.takes("WITH")
            return "restart", self.number(optional=not said)
        if self.takes("OWNED", "BY"):
            return "owner", self._owner()
        if self.takes("AS"):
            kind = _TYPES.get(self.word().upper())
            if kind is None:
                self.place -= 1
                raise self.error("a sequence has the type SMALLINT, INTEGER or BIGINT")
            return "type", kind
        raise self.error("an option of a sequence was expected")

    def _owner(self) -> exp.Column | None:
        if self.takes("NONE"):
            return None
        named = self.name()
        if not named.db:
            raise self.error("OWNED BY needs a table and a column: t.c")
        parts = [named.args.get(part) for part in ("this", "db", "catalog")]
        return exp.Column(this=parts[0], table=parts[1], db=parts[2])
