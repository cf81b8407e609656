"""SET CONSTRAINTS {ALL | name, ..} {DEFERRED | IMMEDIATE}, by its tokens. Pure."""

from __future__ import annotations

from sqlglot.tokenizer_core import Token, TokenType

from journal.model.errors import Code, PalimpsestError
from rewriter.name_resolution import token_position
from rewriter.statement import SetConstraints


def set_constraints(tokens: list[Token]) -> SetConstraints:
    """The statement whose tokens, from CONSTRAINTS on, are given; raises SYNTAX."""
    last = tokens[-1]
    if last.text.upper() not in {"DEFERRED", "IMMEDIATE"}:
        raise _syntax_error(last)
    deferred = last.text.upper() == "DEFERRED"
    listed = tokens[1:-1]
    if len(listed) == 1 and listed[0].text.upper() == "ALL":
        return SetConstraints(None, deferred)
    names: list[tuple[str | None, str]] = []
    part: list[Token] = []
    for token in [*listed, None]:
        if token is not None and token.token_type is not TokenType.COMMA:
            part.append(token)
            continue
        is_qualified = len(part) == 3 and part[1].token_type is TokenType.DOT
        if len(part) != 1 and not is_qualified:
            raise _syntax_error(part[-1] if part else last)
        names.append((part[0].text if is_qualified else None, part[-1].text))
        part = []
    return SetConstraints(tuple(names), deferred)


def _syntax_error(token: Token) -> PalimpsestError:
    return PalimpsestError(
        Code.SYNTAX,
        f'SET CONSTRAINTS takes ALL or names, and DEFERRED or IMMEDIATE near "{token.text}"',
        advice="write SET CONSTRAINTS ALL DEFERRED, or name foreign keys in the place of ALL",
        position=token_position(token),
    )


def without_not_deferrable(tokens: list[Token]) -> list[Token]:
    """The tokens of a definition without NOT DEFERRABLE behind REFERENCES, as that holds anyway.

    sqlglot takes it for a NOT NULL. Before INITIALLY DEFERRED it stays, and is refused.
    """
    if tokens[0].text.upper() not in {"CREATE", "ALTER"}:
        return tokens
    words = [t.text.upper() if t.token_type is not TokenType.IDENTIFIER else "" for t in tokens]
    found: list[Token] = []
    for index, token in enumerate(tokens):
        start = index if words[index] == "NOT" else index - 1
        is_pair = words[start : start + 2] == ["NOT", "DEFERRABLE"]
        is_late = words[start + 2 : start + 4] == ["INITIALLY", "DEFERRED"]
        if not is_pair or is_late or not _is_behind_references(words, start):
            found.append(token)
    return found


def _is_behind_references(words: list[str], index: int) -> bool:
    depth = 0
    for word in reversed(words[:index]):
        depth += (word == ")") - (word == "(")
        if depth < 0 or (depth == 0 and word in {",", "CHECK"}):
            return False
        if depth == 0 and word == "REFERENCES":
            return True
    return False
