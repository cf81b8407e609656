"""Leaves out arguments of calls that a client says are of the type void, as PostgreSQL does.

JDBC sends ``{? = call upper(?)}`` as ``select * from upper($1,$2) as result``, in which ``$1``
stands for the result: its type is void, and its value NULL.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlglot.tokenizer_core import Token, TokenType

from rewriter.syntax.postgres_tokens import as_scanned
from rewriter.syntax.tokens import tokenize

VOID = 2278
"""The number of the type void."""
_OPENS = frozenset({TokenType.L_PAREN, TokenType.COMMA})
_CLOSES = frozenset({TokenType.R_PAREN, TokenType.COMMA})


def without_void_arguments(text: str, oids: Sequence[int]) -> str:
    """The text with blanks in the place of such arguments; what is none stays where it is.

    >>> without_void_arguments("select upper($1,$2)", (2278, 25))
    'select upper(   $2)'
    """
    if VOID not in oids:
        return text
    tokens = as_scanned(tokenize(text, "postgres"), text)
    for place in range(1, len(tokens) - 2):
        before, sign, number, after = tokens[place - 1 : place + 3]
        if not _is_void(sign, number, oids) or before.token_type not in _OPENS:
            continue
        if after.token_type in _CLOSES:
            is_listed = after.token_type is TokenType.COMMA
            first = before if before.token_type is TokenType.COMMA and not is_listed else sign
            text = _blanked(text, first.start, after.end if is_listed else number.end)
    return text


def without_void_values(values: Sequence[Any], oids: Sequence[int]) -> Sequence[Any]:
    """The values without those behind the last parameter that the statement has left."""
    count = len(values)
    while count and oids[count - 1] == VOID:
        count -= 1
    return values[:count]


def _is_void(sign: Token, number: Token, oids: Sequence[int]) -> bool:
    if sign.token_type is not TokenType.PARAMETER or not number.text.isdecimal():
        return False
    place = int(number.text) - 1
    return place < len(oids) and oids[place] == VOID


def _blanked(text: str, start: int, end: int) -> str:
    return text[:start] + " " * (end + 1 - start) + text[end + 1 :]
