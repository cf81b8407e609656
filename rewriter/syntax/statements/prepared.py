"""PREPARE, EXECUTE and DEALLOCATE, recognised by their tokens.

PREPARE name [(type, ..)] AS statement
EXECUTE name [(value, ..)]     EXECUTE name (parameter := value, ..)
DEALLOCATE [PREPARE] name | ALL
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from rewriter.name_resolution import token_position
from rewriter.statement import Deallocate, Execute

Parse = Callable[..., exp.Expr]


@dataclass(frozen=True, slots=True)
class PrepareHead:
    """What stands before the statement of a PREPARE: its name, its types, and how many tokens."""

    name: str
    types: tuple[list[Token], ...]
    width: int


def head_of_prepare(tokens: Sequence[Token]) -> PrepareHead:
    """The head of a PREPARE; raises SYNTAX where there is no name, AS or statement."""
    place = 2
    types: list[list[Token]] = []
    if _word(tokens, place) == "(":
        end = _closing(tokens, place)
        types = split_arguments(tokens[place + 1 : end])
        place = end + 1
    if len(tokens) < 2 or _word(tokens, place) != "AS" or place + 1 >= len(tokens):
        near = tokens[min(place, len(tokens) - 1)]
        raise _syntax_error(near, "PREPARE needs a name, perhaps (types), AS and a statement")
    return PrepareHead(tokens[1].text, tuple(types), place + 1)


def execute(tokens: list[Token], parse: Parse) -> Execute:
    """EXECUTE with the expressions that are its arguments."""
    if len(tokens) == 2:
        return Execute(tokens[1].text, ())
    if _word(tokens, 2) != "(" or _closing(tokens, 2) != len(tokens) - 1:
        raise _syntax_error(tokens[-1], "EXECUTE needs a name, and values in parentheses")
    return Execute(tokens[1].text, parsed_arguments(tokens[3:-1], parse))


def deallocate(tokens: list[Token], parse: Parse) -> Deallocate:
    """DEALLOCATE of one prepared statement or of all."""
    rest = tokens[1:]
    if len(rest) > 1 and rest[0].text.upper() == "PREPARE":
        rest = rest[1:]
    if len(rest) != 1:
        raise _syntax_error(tokens[-1], "DEALLOCATE needs the name of a prepared statement, or ALL")
    is_all = rest[0].text.upper() == "ALL" and rest[0].token_type is not TokenType.IDENTIFIER
    return Deallocate(None if is_all else rest[0].text)


def parsed_arguments(tokens: Sequence[Token], parse: Parse) -> tuple[tuple[str, exp.Expr], ...]:
    """The arguments between parentheses: by place, or by name where ``name := value`` says so."""
    found: list[tuple[str, exp.Expr]] = []
    for index, part in enumerate(split_arguments(tokens)):
        key = str(index)
        if len(part) > 2 and part[1].text in {"=>", ":="}:
            key, part = part[0].text.lower(), part[2:]
        if not part:
            raise _syntax_error(tokens[0], "an argument is missing")
        first = part[0]
        select = Token(TokenType.SELECT, "SELECT", first.line, first.col, first.start, first.end)
        values = parse([select, *part]).expressions
        if len(values) != 1:
            raise _syntax_error(first, "one value was expected")
        found.append((key, values[0]))
    return tuple(found)


def split_arguments(tokens: Sequence[Token]) -> list[list[Token]]:
    """The tokens of each argument; none for no tokens."""
    parts: list[list[Token]] = []
    depth = 0
    for token in tokens:
        depth += (token.text in "([{") - (token.text in ")]}")
        if not parts:
            parts.append([])
        if depth == 0 and token.text == ",":
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _closing(tokens: Sequence[Token], opening: int) -> int:
    depth = 0
    for place in range(opening, len(tokens)):
        depth += (tokens[place].text == "(") - (tokens[place].text == ")")
        if depth == 0:
            return place
    raise _syntax_error(tokens[opening], "a parenthesis is not closed")


def _word(tokens: Sequence[Token], place: int) -> str:
    return tokens[place].text.upper() if place < len(tokens) else ""


def _syntax_error(token: Token, message: str) -> PalimpsestError:
    return PalimpsestError(
        Code.SYNTAX,
        f'{message} near "{token.text}"',
        advice="check the statement at this place",
        position=token_position(token),
    )
