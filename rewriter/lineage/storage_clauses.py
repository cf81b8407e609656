"""Simpler forms of statements that no parser takes as they are written.

What is left out of a CREATE, SKEWED BY and the like, says how a table lies on disk, what its
columns must hold or who may use it, not what is in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot.tokenizer_core import Token, TokenType

_ABOUT_STORAGE = frozenset({"TRANSACTIONAL", "MANAGED"})
_CONSTRAINTS = frozenset({"CONSTRAINT", "PRIMARY", "FOREIGN", "UNIQUE", "CHECK"})
_CONDITION = ["IF", "NOT", "EXISTS"]


def simpler_forms(part: Sequence[Token]) -> Iterator[list[Token]]:
    """A CREATE of a table or view with its columns, partitions and query alone; then with no more
    than the names of the columns. Nothing for other statements."""
    for names_alone in (False, True):
        form = _created(list(part), names_alone=names_alone)
        if form is None:
            return
        yield form


def _created(part: list[Token], *, names_alone: bool) -> list[Token] | None:
    words = [token.text.upper() for token in part]
    kind = next((w for w in words[:6] if w in {"TABLE", "VIEW"}), None)
    if words[0] != "CREATE" or kind is None:
        return None
    begin = place = words.index(kind) + 1
    if words[place : place + 3] == _CONDITION:
        place += 3
    place += 1
    while place < len(part) and part[place].token_type is TokenType.DOT:
        place += 2
    kept = [t for t, w in zip(part[:begin], words[:begin], strict=True) if w not in _ABOUT_STORAGE]
    kept += part[begin:place]
    after_name = place
    while place < len(part):
        if words[place] == "AS" and _starts_query(part, place + 1):
            return [*kept, *part[place:]]
        if words[place] == "AS" and words[place - 1] != "STORED":
            return None
        end = end_of_group(part, place)
        if words[place] == "(" and place == after_name:
            kept += _names(part[place:end]) if names_alone else part[place:end]
        elif words[place : place + 2] == ["PARTITIONED", "BY"]:
            end = end_of_group(part, place + 2)
            group = part[place + 2 : end]
            kept += [*part[place : place + 2], *(_names(group) if names_alone else group)]
        elif words[place] == "LIKE" and words[place + 1 : place + 2] != ["FILE"]:
            return [*kept, *part[place : place + 4]]
        place = end
    return kept if kind == "TABLE" else None


def _names(group: Sequence[Token]) -> list[Token]:
    """The names of the columns that stand in parentheses, without types and conditions."""
    names: list[Token] = []
    depth = 0
    starts = True
    for token in group[1:-1]:
        if depth == 0 and token.token_type is TokenType.COMMA:
            starts = True
            continue
        if starts and token.text.upper() not in _CONSTRAINTS:
            names += [_comma(token), token] if names else [token]
        starts = False
        depth += sum(map(token.text.count, "(<")) - sum(map(token.text.count, ")>"))
    return [group[0], *names, group[-1]]


def _comma(place: Token) -> Token:
    return Token(TokenType.COMMA, ",", place.line, place.col, place.start, place.end)


def without_condition(part: list[Token]) -> list[Token]:
    """INSERT without the IF NOT EXISTS that Hive may have after its table or its PARTITION (..)."""
    words = [token.text.upper() for token in part]
    if "INSERT" not in words or "EXISTS" not in words:
        return part
    for place in range(2, len(part)):
        if words[place : place + 3] != _CONDITION:
            continue
        after_table = "INSERT" in words[max(0, place - 6) : place] and (
            words[place + 3 : place + 4] != ["("]
        )
        if after_table or (words[place - 1] == ")" and _closes_partition(words, place - 1)):
            return [*part[:place], *without_condition(part[place + 3 :])]
    return part


def _closes_partition(words: Sequence[str], place: int) -> bool:
    depth = 0
    for at in range(place, 0, -1):
        depth += (words[at] == ")") - (words[at] == "(")
        if depth == 0:
            return words[at - 1] == "PARTITION"
    return False


def end_of_group(part: Sequence[Token], place: int) -> int:
    """The place after a token, or after the parenthesis that it opens."""
    depth = 0
    while place < len(part):
        kind = part[place].token_type
        depth += (kind is TokenType.L_PAREN) - (kind is TokenType.R_PAREN)
        place += 1
        if depth <= 0:
            break
    return place


def _starts_query(part: Sequence[Token], place: int) -> bool:
    while place < len(part) and part[place].token_type is TokenType.L_PAREN:
        place += 1
    return place < len(part) and part[place].text.upper() in {"SELECT", "WITH", "FROM", "VALUES"}
