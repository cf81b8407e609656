"""Goes through the tokens of a statement that sqlglot does not parse. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import fold
from rewriter.name_resolution import token_position

Parse = Callable[..., exp.Expr]
"""Parses part of a statement with sqlglot."""
_OPENING, _CLOSING = "([{", ")]}"
_TEXTS = frozenset({TokenType.STRING, TokenType.HEREDOC_STRING})


@dataclass(slots=True)
class TokenReader:
    """Reads tokens from ``place`` on; whatever does not fit raises SYNTAX with ``advice``."""

    tokens: list[Token]
    parse: Parse
    place: int
    advice: str = "see docs/definitions.md for the form of the statement"

    def takes(self, *words: str) -> bool:
        """Go on behind these words if they stand here."""
        here = self.tokens[self.place : self.place + len(words)]
        if [t.text.upper() for t in here] != list(words):
            return False
        self.place += len(words)
        return True

    def takes_temporary(self) -> bool:
        """Go on behind TEMP or TEMPORARY, with LOCAL before it or not, if it stands here."""
        self.takes("LOCAL")
        return self.takes("TEMP") or self.takes("TEMPORARY")

    def word(self) -> str:
        """The next token's text."""
        if self.place >= len(self.tokens):
            raise self.error("a name is missing")
        self.place += 1
        return str(self.tokens[self.place - 1].text)

    def identifier(self) -> exp.Identifier:
        """The next token as a name in PostgreSQL's dialect: folded unless it is quoted."""
        text = self.word()
        token = self.tokens[self.place - 1]
        is_quoted = token.token_type is TokenType.IDENTIFIER
        found = exp.to_identifier(text if is_quoted else fold(text), quoted=is_quoted)
        found.update_positions(token)
        return found

    def name(self) -> exp.Table:
        """A name, perhaps with a schema and a database before it."""
        start = self.place
        self.word()
        while self.takes("."):
            self.word()
        found = self.parse(list(self.tokens[start : self.place]), exp.Table)
        assert isinstance(found, exp.Table)
        return found

    def altered_place(self) -> tuple[bool, exp.Table, str | None]:
        """``[IF EXISTS] t [ALTER | MODIFY [COLUMN] c]`` behind ALTER TABLE: that, the table, c."""
        exists, table = self.takes("IF", "EXISTS"), self.name()
        if not (self.takes("ALTER") or self.takes("MODIFY")):
            return exists, table, None
        self.takes("COLUMN")
        return exists, table, self.word()

    def altered_column(self) -> exp.AlterColumn | None:
        """``ALTER [COLUMN] c`` at the head of an action of ALTER TABLE; None for anything else."""
        if not self.takes("ALTER"):
            return None
        self.takes("COLUMN")
        if self.place >= len(self.tokens):
            return None
        token = self.tokens[self.place]
        name = exp.to_identifier(self.word(), quoted=token.token_type is TokenType.IDENTIFIER)
        name.update_positions(token)
        return exp.AlterColumn(this=name)

    def number(self, optional: bool = False) -> int | None:
        """A whole number, perhaps with a sign."""
        negative = self.takes("-")
        _ = negative or self.takes("+")
        token = self.tokens[self.place] if self.place < len(self.tokens) else None
        if token is not None and token.token_type is TokenType.NUMBER and token.text.isdigit():
            self.place += 1
            return -int(token.text) if negative else int(token.text)
        if optional and not negative:
            return None
        raise self.error("a whole number was expected")

    def ends(self, message: str) -> None:
        """Raise SYNTAX unless everything was read."""
        if self.place < len(self.tokens):
            raise self.error(message)

    def text(self) -> str:
        """A literal of text."""
        token = self.tokens[self.place] if self.place < len(self.tokens) else None
        if token is None or token.token_type not in _TEXTS:
            raise self.error("a text in single quotes was expected")
        self.place += 1
        return str(token.text)

    def part(self, ends: Collection[str] = ()) -> list[Token]:
        """The tokens up to one of these words outside of parentheses, or to the end."""
        start, depth = self.place, 0
        while self.place < len(self.tokens):
            token = self.tokens[self.place]
            if token.token_type is not TokenType.STRING:
                if depth == 0 and (token.text.upper() in ends or token.text in _CLOSING):
                    break
                depth += (token.text in _OPENING) - (token.text in _CLOSING)
            self.place += 1
        if start == self.place:
            raise self.error("something is missing")
        return list(self.tokens[start : self.place])

    def data_type(self, ends: Collection[str] = ()) -> exp.DataType:
        """A type, up to one of these words; the sizes of its arrays say nothing."""
        part = self.part(ends)
        sizes = range(1, len(part) - 1)
        bare = {i for i in sizes if part[i - 1].text == "[" and part[i + 1].text == "]"}
        part = [token for i, token in enumerate(part) if i not in bare]
        at = (part[0].line, part[0].col, part[0].start, part[0].end)
        # As the type of a cast, since only there the parser takes names that it does not know.
        words = ((TokenType.SELECT, "SELECT"), (TokenType.NULL, "NULL"), (TokenType.DCOLON, "::"))
        select = self.parse([*(Token(kind, text, *at) for kind, text in words), *part])
        found = select.expressions[0] if len(select.expressions) == 1 else None
        if not isinstance(found, exp.Cast):
            raise self.error("a type was expected")
        kind = found.args["to"]
        assert isinstance(kind, exp.DataType)
        return kind

    def value(self, ends: Collection[str] = ()) -> exp.Expr:
        """An expression, up to one of these words."""
        part = self.part(ends)
        first = part[0]
        at = (first.line, first.col, first.start, first.end)
        select = self.parse([Token(TokenType.SELECT, "SELECT", *at), *part])
        if len(select.expressions) != 1:
            raise self.error("one expression was expected")
        found: exp.Expr = select.expressions[0]
        return found

    def error(self, message: str) -> PalimpsestError:
        """SYNTAX at this place."""
        token = self._next_token()
        where = f'{message} near "{token.text}"'
        return PalimpsestError(
            Code.SYNTAX, where, advice=self.advice, position=token_position(token)
        )

    def refused(self, what: str, advice: str) -> PalimpsestError:
        """NOT_SUPPORTED at this place, for a part of a statement that is recognised."""
        message, position = f"{what} is not supported", token_position(self._next_token())
        return PalimpsestError(Code.NOT_SUPPORTED, message, advice=advice, position=position)

    def _next_token(self) -> Token:
        return self.tokens[min(self.place, len(self.tokens) - 1)]
