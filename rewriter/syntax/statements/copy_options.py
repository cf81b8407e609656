"""Spellings of COPY that sqlglot reads as something else, put into the list of options. Pure.

    COPY t TO STDOUT [WITH] [DELIMITER [AS] 'c'] [NULL [AS] 'text'] [ENCODING 'name'] [FREEZE]
      [CSV [HEADER] [QUOTE [AS] 'c'] [ESCAPE [AS] 'c'] [FORCE QUOTE c, .. | *]
      [FORCE [NOT] NULL c, ..]]

is PostgreSQL's old spelling of ``(FORMAT csv, DELIMITER 'c', ..)``.
"""

from __future__ import annotations

from sqlglot.tokenizer_core import Token, TokenType

_PLAIN = frozenset({"HEADER", "FREEZE"})
_VALUED = frozenset({"DELIMITER", "NULL", "ENCODING", "QUOTE", "ESCAPE"})
_FORCED = {
    ("FORCE", "QUOTE"): "FORCE_QUOTE",
    ("FORCE", "NOT", "NULL"): "FORCE_NOT_NULL",
    ("FORCE", "NULL"): "FORCE_NULL",
}


def spell_out_copy(tokens: list[Token]) -> list[Token]:
    """The tokens of a COPY with its options as a list in parentheses, as far as they are known."""
    tokens = _with_text_format(tokens)
    depth = 0
    for place, token in enumerate(tokens):
        depth += (token.text == "(") - (token.text == ")")
        if depth == 0 and place > 1 and token.token_type is not TokenType.IDENTIFIER:
            if token.text.upper() in {"TO", "FROM"}:
                return _with_list(tokens, place + 2)
    return tokens


def _with_list(tokens: list[Token], place: int) -> list[Token]:
    """The tokens with the options from a place on in parentheses, if they have the old spelling."""
    rest = tokens[place:]
    if rest and rest[0].token_type is TokenType.WITH:
        rest = rest[1:]
    if not rest or rest[0].text == "(":
        return tokens
    options: list[list[Token]] = []
    while rest:
        found = _old_option(rest)
        if found is None:
            return tokens
        option, width = found
        options.append(option)
        rest = rest[width:]
    last = tokens[-1]
    listed = [_like(last, TokenType.WITH, "WITH"), _like(last, TokenType.L_PAREN, "(")]
    for option in options:
        listed += [*option, _like(last, TokenType.COMMA, ",")]
    return [*tokens[:place], *listed[:-1], _like(last, TokenType.R_PAREN, ")")]


def _old_option(rest: list[Token]) -> tuple[list[Token], int] | None:
    """The option that stands first, as one of a list, and how many tokens it takes; or None."""
    words = [token.text.upper() for token in rest]
    if words[0] == "CSV":
        named = _like(rest[0], TokenType.VAR, "FORMAT")
        return [named, _like(rest[0], TokenType.VAR, "csv")], 1
    if words[0] in _PLAIN:
        return [_like(rest[0], TokenType.VAR, words[0])], 1
    if words[0] in _VALUED:
        width = 2 if words[1:2] == ["AS"] else 1
        value = rest[width : width + 1]
        if not value or value[0].token_type is not TokenType.STRING:
            return None
        return [_like(rest[0], TokenType.VAR, words[0]), *value], width + 1
    for said, name in _FORCED.items():
        if tuple(words[: len(said)]) == said:
            width = len(said) + 1
            while words[width : width + 1] == [","]:
                width += 2
            columns = rest[len(said) : width]
            if words[len(said) : width] != ["*"]:
                opening = _like(rest[0], TokenType.L_PAREN, "(")
                columns = [opening, *columns, _like(rest[0], TokenType.R_PAREN, ")")]
            return [_like(rest[0], TokenType.VAR, name), *columns], width
    return None


def _with_text_format(tokens: list[Token]) -> list[Token]:
    """FORMAT text, whose word would be taken for a type; STDIN (..), which would be a call."""
    found: list[Token] = []
    for token in tokens:
        before = found[-1].text.upper() if found else ""
        if before in {"TO", "FROM"} and token.token_type is TokenType.IDENTIFIER:
            # DuckDB takes a file's name in double quotes.
            token = _like(token, TokenType.STRING, token.text)
        if token.text == "(" and before in {"STDIN", "STDOUT"}:
            found.append(_like(token, TokenType.WITH, "WITH"))
        if token.text.upper() == "TEXT" and before == "FORMAT":
            token = _like(token, TokenType.VAR, "text")
        found.append(token)
    return found


def _like(token: Token, kind: TokenType, text: str) -> Token:
    return Token(kind, text, token.line, token.col, token.start, token.end)
