"""What sqlglot does not parse of MERGE: ERROR, UPDATE and INSERT BY NAME, and a join as the source.

The actions are DuckDB's. Their words are taken out of the tokens before parsing and set on the WHEN
clauses afterwards. A join gets brackets. Pure.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from journal.model.lazy_dataclass import dataclass

BY_NAME, ERROR = "by_name", "error"
"""Arguments of a WHEN clause: whether columns go by name, and the text of the error it raises."""
ParseTokens = Callable[[list[Token]], exp.Expr]


@dataclass(frozen=True, slots=True)
class ActionMarks:
    """What was removed behind one THEN; ``error`` is None where there is no ERROR.

    ``overriding`` is SYSTEM or USER where an INSERT says so.
    """

    by_name: bool | None = None
    error: list[Token] | None = None
    overriding: str = ""


def bracket_source(tokens: list[Token]) -> list[Token]:
    """The tokens with ``USING a JOIN b ON ..`` of a MERGE in brackets: the last ON is the MERGE's.

    Its condition is the last one before the first WHEN.
    """
    words = [t.text.upper() if t.token_type is not TokenType.IDENTIFIER else "" for t in tokens]
    if "MERGE" not in words or "JOIN" not in words:
        return tokens
    whens = _clauses(words)
    if not whens:
        return tokens
    start, ons, is_join, depth = 0, [0], False, 0
    for place in range(words.index("MERGE"), whens[0]):
        word = words[place]
        depth += (word in {"(", "CASE"}) - (word in {")", "END"})
        if depth:
            continue
        if not start:
            start = place + 1 if word == "USING" else 0
        elif word == "JOIN":
            is_join = True
        elif word == "ON":
            ons.append(place)
    if not is_join or not ons[-1]:
        return tokens
    opened, closed = tokens[start], tokens[ons[-1] - 1]
    return [
        *tokens[:start],
        _like(opened, TokenType.L_PAREN, "("),
        *tokens[start : ons[-1]],
        _like(closed, TokenType.R_PAREN, ")"),
        *tokens[ons[-1] :],
    ]


def spell_out_actions(tokens: list[Token]) -> tuple[list[Token], list[ActionMarks]]:
    """The tokens that sqlglot can parse, and what each WHEN clause lost; empty if none did."""
    words = [t.text.upper() if t.token_type is not TokenType.IDENTIFIER else "" for t in tokens]
    if "MERGE" not in words or not {"ERROR", "NAME", "POSITION", "OVERRIDING"} & set(words):
        return tokens, []
    begins = _clauses(words)
    kept = tokens[: begins[0]] if begins else list(tokens)
    marks = []
    for begin, end in zip(begins, [*begins[1:], len(tokens)], strict=False):
        clause, mark = _spelled_out(tokens[begin:end], words[begin:end])
        kept += clause
        marks.append(mark)
    return kept, marks if any(m != ActionMarks() for m in marks) else []


def set_actions(ast: exp.Expr, marks: list[ActionMarks], parse: ParseTokens) -> exp.Expr:
    """Set what was removed on the clauses of a MERGE."""
    merge = ast.find(exp.Merge)
    if merge is None:
        return ast
    for when, mark in zip(merge.args["whens"].expressions, marks, strict=True):
        if mark.by_name is not None:
            when.set(BY_NAME, mark.by_name)
        if mark.error is not None:
            when.set(ERROR, parse(mark.error).expressions[0] if mark.error[1:] else exp.null())
        if mark.overriding:
            when.args["then"].set("overriding", mark.overriding)
    return ast


def _clauses(words: list[str]) -> list[int]:
    """Where each WHEN of the MERGE begins; those of CASE and in parentheses are none."""
    depth, found = 0, []
    for place, word in enumerate(words):
        depth += (word in {"(", "CASE"}) - (word in {")", "END"})
        if word == "WHEN" and depth == 0 and words[place + 1 : place + 2] in (["MATCHED"], ["NOT"]):
            found.append(place)
    return found


def _spelled_out(clause: list[Token], words: list[str]) -> tuple[list[Token], ActionMarks]:
    depth = then = 0
    for place, word in enumerate(words):
        depth += (word in {"(", "CASE"}) - (word in {")", "END"})
        if word == "THEN" and depth == 0:
            then = place
            break
    behind = words[then + 1 : then + 4]
    if behind[:1] == ["ERROR"]:
        end = words.index("RETURNING") if "RETURNING" in words else len(words)
        first = clause[then + 1]
        text = [_like(first, TokenType.SELECT, "SELECT"), *clause[then + 2 : end]]
        delete = _like(first, TokenType.DELETE, "DELETE")
        return [*clause[: then + 1], delete, *clause[end:]], ActionMarks(error=text)
    if behind[:1] in (["UPDATE"], ["INSERT"]) and behind[1:] in (
        ["BY", "NAME"],
        ["BY", "POSITION"],
    ):
        rest = clause[then + 4 :]
        rest = rest[1:] if words[then + 4 : then + 5] == ["*"] else rest
        return [*clause[: then + 2], *rest], ActionMarks(by_name=behind[2] == "NAME")
    if behind[:1] == ["INSERT"] and "OVERRIDING" in words[then:]:
        place = words.index("OVERRIDING", then)
        if words[place + 1 : place + 3] in (["SYSTEM", "VALUE"], ["USER", "VALUE"]):
            rest = [*clause[:place], *clause[place + 3 :]]
            return rest, ActionMarks(overriding=words[place + 1])
    return clause, ActionMarks()


def _like(token: Token, kind: TokenType, text: str) -> Token:
    return Token(kind, text, token.line, token.col, token.start, token.end)
