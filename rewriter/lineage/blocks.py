"""The statements within procedures and blocks, and those of T-SQL that no semicolon ends.

A script is cut at its semicolons. What stands before the first statement of a block, as
``CREATE PROCEDURE .. BEGIN`` or ``IF x THEN``, is left out here; when a statement runs does not
change what it writes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot.tokenizer_core import Token, TokenType

_STARTS = frozenset({"INSERT", "UPDATE", "DELETE", "MERGE", "CREATE", "TRUNCATE", "DROP", "ALTER"})
_CONTROL = frozenset(
    {"BEGIN", "IF", "ELSE", "ELSEIF", "ELSIF", "WHILE", "LOOP", "FOR", "REPEAT", "END", "THEN"}
    | {"DECLARE", "EXCEPTION", "WHEN", "GO", "TRY", "CATCH", "AS", "RETURN", "PRINT"}
)
_NO_START_AFTER = frozenset({"THEN", "ON", "FOR", "AFTER", "BEFORE", "OF", ",", "OR", "(", "."})
_PROCEDURES = frozenset({"PROCEDURE", "PROC", "TRIGGER"})
_JOINS_QUERIES = frozenset({"UNION", "ALL", "EXCEPT", "INTERSECT", "AS", "MINUS", "DISTINCT"})
_WITH_QUERY = frozenset({"INSERT", "CREATE", "WITH", "MERGE"})
_BREAKS = frozenset(
    {"BEGIN", "END", "GO", "IF", "ELSE", "WHILE", "DECLARE", "PRINT", "RETURN", "EXEC", "EXECUTE"}
)
_RIGHTS = frozenset({"GRANT", "REVOKE", "DENY"})


def procedure_made(part: Sequence[Token]) -> str | None:
    """The name of the procedure that a statement creates, in lower case, without its schema."""
    words = [token.text.upper() for token in part[:6]]
    if not words or words[0] not in {"CREATE", "ALTER"}:
        return None
    place = next((p for p, word in enumerate(words) if word in _PROCEDURES), None)
    if place is None:
        return None
    place += 1
    while place + 2 < len(part) and part[place + 1].token_type is TokenType.DOT:
        place += 2
    return part[place].text.lower() if place < len(part) else None


def first_of_block(part: list[Token]) -> list[Token]:
    """A statement without the procedure, block or condition that begins before it."""
    in_procedure = procedure_made(part) is not None
    if not in_procedure and part[0].text.upper() not in _CONTROL:
        return part
    starts = _starts(part, 1 if in_procedure else 0)
    first = next(starts, None)
    return part if first is None else part[first:]


def statements_without_semicolons(part: list[Token]) -> list[list[Token]]:
    """The statements of T-SQL that stand one after the other; one if they cannot be told apart."""
    found: list[list[Token]] = []
    begin, has_query, cases, depth = 0, False, 0, 0
    for place, token in enumerate(part):
        word, before = token.text.upper(), part[place - 1].text.upper() if place else ""
        depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
        ends_case = word == "END" and cases > 0
        cases += (word == "CASE") - ends_case
        first = part[begin].text.upper()
        if depth or place == begin or before in _NO_START_AFTER or first in _RIGHTS:
            continue
        if word == "SELECT":
            starts = before not in _JOINS_QUERIES and (has_query or first not in _WITH_QUERY)
            has_query = True
        else:
            starts = word in _STARTS or (not cases and not ends_case and word in _BREAKS)
        if starts and not _same_statement(first, word, part, begin, place):
            found.append(part[begin:place])
            begin, has_query = place, word == "SELECT"
    return [*found, part[begin:]]


def _same_statement(first: str, word: str, part: Sequence[Token], begin: int, place: int) -> bool:
    """Whether a word goes on with the statement that it would begin elsewhere."""
    if first == "WITH" and word in _STARTS:
        # The statement that the common table expressions are of.
        return not any(t.text.upper() in _STARTS for t in part[begin:place])
    return first == "INSERT" and word in {"EXEC", "EXECUTE"}


def _starts(part: Sequence[Token], place: int) -> Iterator[int]:
    depth = 0
    for at in range(place, len(part)):
        kind, word = part[at].token_type, part[at].text.upper()
        depth += (kind is TokenType.L_PAREN) - (kind is TokenType.R_PAREN)
        before = part[at - 1].text.upper() if at else ""
        is_body = before not in _NO_START_AFTER - {"THEN"}
        if depth == 0 and is_body and (word in _STARTS or _starts_with(part, at)):
            yield at


def _starts_with(part: Sequence[Token], at: int) -> bool:
    """Whether a WITH begins common table expressions here: ``WITH name [(columns)] AS (``."""
    if part[at].text.upper() != "WITH" or at + 2 >= len(part):
        return False
    return part[at + 2].text.upper() == "AS" or part[at + 2].token_type is TokenType.L_PAREN
