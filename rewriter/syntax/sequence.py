"""CREATE, ALTER and DROP SEQUENCE, recognised by their tokens.

CREATE [OR REPLACE] [TEMP] SEQUENCE [IF NOT EXISTS] name [options]
ALTER SEQUENCE [IF EXISTS] name options | RENAME TO name | SET SCHEMA schema
DROP SEQUENCE [IF EXISTS] name, .. [CASCADE | RESTRICT]
options: AS type, START [WITH] n, INCREMENT [BY] n, [NO] MINVALUE [n], [NO] MAXVALUE [n], CACHE n,
    [NO] CYCLE, OWNED BY table.column | NONE, RESTART [[WITH] n]
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from journal.model.lazy_dataclass import dataclass
from rewriter.statement import (
    AlterSequence,
    CreateSequence,
    DropSequences,
    OfSequence,
    SequenceOptions,
)
from rewriter.syntax.token_reader import Parse, TokenReader

_NEXT_VALUE = ["NEXT", "VALUE", "FOR"]
_TEMPORARY = frozenset({"TEMP", "TEMPORARY"})
_SIZES = {"START": ("start", "WITH"), "INCREMENT": ("increment", "BY"), "CACHE": ("cache", "")}
_BOUNDS = {"MINVALUE": "minimum", "MAXVALUE": "maximum"}
_TYPES = {
    **dict.fromkeys(("SMALLINT", "INT2"), "SMALLINT"),
    **dict.fromkeys(("INT", "INTEGER", "INT4"), "INT"),
    **dict.fromkeys(("BIGINT", "INT8"), "BIGINT"),
}


def recognise_sequence(tokens: list[Token], parse: Parse) -> OfSequence | None:
    """The statement if it is about sequences, else None."""
    reader = _Reader(tokens, parse, 1)
    verb = tokens[0].text.upper()
    replaces = verb == "CREATE" and reader.takes("OR", "REPLACE")
    reader.takes("LOCAL")
    temporary = verb == "CREATE" and any(reader.takes(word) for word in _TEMPORARY)
    if not reader.takes("SEQUENCE"):
        return None
    match verb:
        case "CREATE":
            exists = reader.takes("IF", "NOT", "EXISTS")
            name = reader.name()
            return CreateSequence(name, reader.options(), temporary, exists, replaces)
        case "ALTER":
            return _alter(reader)
        case _:
            exists = reader.takes("IF", "EXISTS")
            names = [reader.name()]
            while reader.takes(","):
                names.append(reader.name())
            cascade = reader.takes("CASCADE")
            _ = cascade or reader.takes("RESTRICT")
            reader.ends("DROP SEQUENCE needs names, and CASCADE or RESTRICT behind them")
            return DropSequences(tuple(names), exists, cascade)


def spell_next_value(tokens: list[Token]) -> list[Token]:
    """The tokens with ``nextval('s')`` where ``NEXT VALUE FOR s`` stands."""
    words = [token.text.upper() for token in tokens]
    place = next((i for i in range(len(words)) if words[i : i + 3] == _NEXT_VALUE), None)
    if place is None:
        return tokens
    end = place + 4
    while words[end : end + 1] == ["."]:
        end += 2
    parts = [t for t in tokens[place + 3 : end] if t.text != "."]
    quoted = (exp.to_identifier(t.text, quoted=t.token_type is TokenType.IDENTIFIER) for t in parts)
    name = ".".join(part.sql(dialect="duckdb") for part in quoted)
    kinds = [(TokenType.VAR, "nextval"), (TokenType.L_PAREN, "("), (TokenType.STRING, name)]
    at = tokens[place]
    made = [
        Token(kind, text, at.line, at.col, at.start, at.end)
        for kind, text in (*kinds, (TokenType.R_PAREN, ")"))
    ]
    return spell_next_value([*tokens[:place], *made, *tokens[end:]])


def sequence_options(tokens: list[Token], parse: Parse) -> SequenceOptions:
    """The options of a sequence that these tokens are."""
    return _Reader(tokens, parse, 0).options()


def _alter(reader: _Reader) -> AlterSequence:
    exists = reader.takes("IF", "EXISTS")
    name, nothing = reader.name(), SequenceOptions()
    if reader.takes("RENAME", "TO"):
        found = AlterSequence(name, nothing, exists, new_name=reader.name())
        reader.ends("RENAME TO needs one name")
        return found
    if reader.takes("SET", "SCHEMA"):
        found = AlterSequence(name, nothing, exists, new_schema=reader.word())
        reader.ends("SET SCHEMA needs one name")
        return found
    options = reader.options()
    if not options.said:
        raise reader.error("ALTER SEQUENCE needs an option, RENAME TO or SET SCHEMA")
    return AlterSequence(name, options, exists)


@dataclass(slots=True)
class _Reader(TokenReader):
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
