"""Parameters of statements: ``?``, ``%s``, ``%(n)s``, ``:n`` and ``$n``, among the tokens. Pure.

They are renamed there, so that positions stay those of the client's text and literals are never
touched.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot.tokenizer_core import Token, TokenType

from journal.model.plan import USER_PARAMETER
from rewriter.dialect_semantics import DIALECTS
from rewriter.syntax.tokens import tokenize


def renamed_parameters(
    tokens: list[Token], dialect: str
) -> tuple[list[Token], tuple[int | str, ...]]:
    """The tokens with parameters by their own names, and what the client calls each."""
    result: list[Token] = []
    names: dict[int | str, None] = {}
    count = 0
    index = 0
    sigil = _SIGILS.get(dialect, (TokenType.COLON, ":"))
    while index < len(tokens):
        first = tokens[index]
        begins = first.text in _PARAMETER_BEGINS and not (
            DIALECTS[dialect] == "postgres" and _is_key_operator(tokens, index)
        )
        found = _parameter(tokens, index) if begins else None
        if found is None:
            result.append(first)
            index += 1
            continue
        name, width = found
        if name == "":
            key: int | str = count
            count += 1
        else:
            key = int(name) - 1 if name.isdigit() else name
        names[key] = None
        shown = f"{USER_PARAMETER}{key}"
        result.append(_token(*sigil, first))
        result.append(_token(TokenType.VAR, shown, first))
        index += width
    return result, tuple(names)


def with_values(text: str, dialect: str, values: Mapping[str, str]) -> str:
    """A statement's text with SQL in the place of its named parameters; others stay.

    >>> with_values("SELECT $day, '$day'", "duckdb", {"day": "DATE '2013-01-01'"})
    "SELECT DATE '2013-01-01', '$day'"
    """
    tokens = tokenize(text, DIALECTS[dialect])
    parts, at, index = [], 0, 0
    while index < len(tokens):
        token = tokens[index]
        found = _parameter(tokens, index) if token.text in _PARAMETER_BEGINS else None
        name, width = found or ("", 1)
        if name in values:
            parts += [text[at : token.start], values[name]]
            at = tokens[index + width - 1].end + 1
        index += width
    return "".join([*parts, text[at:]])


_SIGILS = {"duckdb": (TokenType.PARAMETER, "$")}
"""How a named parameter begins, where it is not with a colon."""


def _token(kind: TokenType, text: str, at: Token) -> Token:
    return Token(kind, text, at.line, at.col, at.start, at.end)


_PARAMETER_BEGINS = frozenset("?$:%")


def _parameter(tokens: list[Token], index: int) -> tuple[str, int] | None:
    """Name and width in tokens of the parameter that starts here; "" when it has no name."""
    token = tokens[index]
    after = tokens[index + 1] if index + 1 < len(tokens) else None
    touching = after is not None and after.start == token.end + 1
    if token.token_type is TokenType.PLACEHOLDER and token.text == "?":
        is_numbered = touching and after is not None and after.text.isdigit()
        return (after.text, 2) if is_numbered and after is not None else ("", 1)
    if not touching or after is None:
        return None
    if token.text == "$" and token.token_type is TokenType.PARAMETER:
        return after.text, 2
    if token.text == ":" and _free_colon(tokens, index) and _is_name(after):
        return after.text, 2
    if token.text == "%" and after.text.lower() == "s" and _after_operator(tokens, index):
        return "", 2
    if token.text == "%" and after.text == "(" and index + 4 < len(tokens):
        name, close, kind = tokens[index + 2 : index + 5]
        if close.text == ")" and kind.text.lower() == "s" and kind.start == close.end + 1:
            return name.text, 5
    return None


def _is_key_operator(tokens: list[Token], index: int) -> bool:
    """True for the ``?`` of ``j ? 'key'``: between a value and a text or a parameter."""
    if tokens[index].text != "?" or not 0 < index < len(tokens) - 1:
        return False
    before, after = tokens[index - 1], tokens[index + 1]
    is_behind_value = before.token_type in {*_VALUE_ENDS, TokenType.VAR, TokenType.IDENTIFIER}
    return is_behind_value and (
        after.token_type is TokenType.STRING or after.text in _PARAMETER_BEGINS
    )


def _is_name(token: Token) -> bool:
    return token.text.isidentifier() or token.text.isdigit()


def _free_colon(tokens: list[Token], index: int) -> bool:
    """False for the colon of a slice or a struct, which follows a value without a space."""
    if index == 0:
        return True
    before = tokens[index - 1]
    if before.end + 1 == tokens[index].start:
        if before.text == "[":
            # The first value of a list, but for a list that is the value of a slice.
            return index == 1 or tokens[index - 2].text.upper() in {"ARRAY", *_BEFORE_VALUES}
        return before.text in _BEFORE_VALUES
    return True


_BEFORE_VALUES = frozenset({"(", ",", "=", "<", ">", "+", "-", "*", "/", "<=", ">=", "<>", "!="})


_VALUE_ENDS = frozenset(
    {TokenType.NUMBER, TokenType.STRING, TokenType.R_PAREN, TokenType.R_BRACKET}
)


def _after_operator(tokens: list[Token], index: int) -> bool:
    """True where ``%s`` cannot be a modulo: not behind a value."""
    if index == 0:
        return True
    before = tokens[index - 1]
    if before.token_type in _VALUE_ENDS:
        return False
    if before.token_type in {TokenType.VAR, TokenType.IDENTIFIER}:
        return before.end + 1 != tokens[index].start
    return True
