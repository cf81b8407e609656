"""Predicates of SQL/JSON as conditions of DuckDB's SQL, which are NULL where unknown. Pure.

A predicate asks all pairs of items of its sides. Lax: it is true of any pair for which it is, and
else unknown if it is unknown of one. Strict: it is unknown as soon as it is of one pair. An error
in a side is no error, but unknown.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from journal.model.lazy_dataclass import dataclass
from rewriter.reading.postgres.json.path.items import (
    Items,
    Surroundings,
    is_failure,
    is_name,
    kind,
    let,
    literal,
    mapped,
    text_in,
    unwrapped,
)
from rewriter.reading.postgres.json.path.nodes import (
    Compared,
    Constant,
    Exists,
    Expression,
    IsUnknown,
    Junction,
    LikeRegex,
    Not,
    Predicate,
    StartsWith,
)
from rewriter.reading.postgres.json.path.numbers import compared
from rewriter.reading.postgres.regexps import expression_in_store

_BRACKETS = re.compile(
    r"\\.|\[(?P<is_not>\^)?(?P<first>\]?)(?P<signs>(?:\[:\w+:\]|\\.|[^\]\\])*)\]", re.S
)
AskPair = Callable[[str, str], str]
Evaluate = Callable[[Expression, Surroundings, bool], Items]
"""Makes the items of an expression; True where nobody needs more than whether there is one."""


class Unsaid(Exception):
    """A part of a path for which there are no words; the message names it, and what to write."""

    def __init__(self, what: str, advice: str) -> None:
        super().__init__(what)
        self.what = what
        self.advice = advice


def condition(predicate: Predicate, scope: Surroundings, evaluate: Evaluate) -> str:
    """SQL of a predicate; raises Unsaid."""
    scope = replace(scope, silent=True)

    def inner(part: Predicate) -> str:
        return condition(part, scope, evaluate)

    match predicate:
        case Junction():
            return f"({inner(predicate.left)} {predicate.operator} {inner(predicate.right)})"
        case Not():
            return f"(NOT {inner(predicate.operand)})"
        case IsUnknown():
            return f"({inner(predicate.operand)} IS NULL)"
        case Exists():
            return exists(evaluate(predicate.operand, scope, True), scope)
        case Compared():
            left, right = (
                unwrapped(evaluate(side, scope, False), scope)
                for side in (predicate.left, predicate.right)
            )
            if isinstance(predicate.right, Constant):
                return _of_one(left, scope, _with_constant(predicate))
            if isinstance(predicate.left, Constant):
                return _of_one(right, scope, _with_constant(_turned(predicate)))
            return _of_pairs(left, right, scope, _pair(predicate.operator))
        case StartsWith():
            left = unwrapped(evaluate(predicate.operand, scope, False), scope)
            return _of_pairs(left, evaluate(predicate.initial, scope, False), scope, _starts)
        case LikeRegex():
            left = unwrapped(evaluate(predicate.operand, scope, False), scope)
            matches = _matches(predicate)
            return _of_one(
                left, scope, lambda item: f"CASE WHEN {kind(item)} = '\"' THEN {matches(item)} END"
            )


def exists(found: Items, scope: Surroundings) -> str:
    """Whether there is an item, as SQL; NULL for an error. Lax: the first item says it."""
    if found.is_single and not found.may_fail:
        # A variable that is not there fails.
        return f"({found.sql} IS NOT NULL)"
    if not found.may_fail:
        return f"(len({found.sql}) > 0)"
    if scope.is_lax or found.is_single:
        first = found.sql if found.is_single else f"list_extract({found.sql}, 1)"
        place = f"1 + COALESCE(1 + CAST(NOT {is_failure(first)} AS INTEGER), 0)"
        return f"list_extract([FALSE, NULL, TRUE], {place})"
    return _summed(_failures(found, scope, other=_STRICT.true), _STRICT)


@dataclass(frozen=True, slots=True)
class _Codes:
    """Numbers for answers, of which the greatest of several counts; FALSE is 0."""

    true: int
    unknown: int
    failed: int = 3


_LAX, _STRICT = _Codes(true=2, unknown=1), _Codes(true=1, unknown=2)


def _codes(scope: Surroundings) -> _Codes:
    return _LAX if scope.is_lax else _STRICT


def _summed(answers: str, codes: _Codes) -> str:
    """The answer that a list of numbers of answers comes to."""
    words = ["NULL"] * 4
    words[0], words[codes.true] = "FALSE", "TRUE"
    return f"list_extract([{', '.join(words)}], 1 + COALESCE(list_max({answers}), 0))"


def _failures(found: Items, scope: Surroundings, other: int = 0) -> str:
    """The numbers of the errors of a sequence, and of what is none."""
    failed = _codes(scope).failed
    return mapped(
        found.items,
        scope,
        lambda item: f"CASE WHEN {is_failure(item)} THEN {failed} ELSE {other} END",
    )


def _answer(item: str, may_fail: bool, asked: str, codes: _Codes) -> str:
    """The number of the answer to a question about an item."""
    answer = f"COALESCE({codes.true} * CAST({asked} AS INTEGER), {codes.unknown})"
    if not may_fail:
        return answer
    return f"CASE WHEN {is_failure(item)} THEN {codes.failed} ELSE {answer} END"


def _of_one(found: Items, scope: Surroundings, ask: Callable[[str], str]) -> str:
    """What a question about each item of a sequence comes to."""
    if found.is_single and not found.may_fail:
        return let(found.sql, scope, lambda item: f"({ask(item)})")
    codes = _codes(scope)
    answers = mapped(
        found.items, scope, lambda item: _answer(item, found.may_fail, ask(item), codes)
    )
    return _summed(answers, codes)


def _of_pairs(left: Items, right: Items, scope: Surroundings, ask: AskPair) -> str:
    """What a question about each pair of items of two sequences comes to."""
    codes = _codes(scope)
    if right.is_single and not right.may_fail and is_name(right.sql):
        return _of_one(left, scope, lambda a: ask(a, right.sql))

    def row(a: str) -> str:
        answers = mapped(right.items, scope, lambda b: _answer(b, right.may_fail, ask(a, b), codes))
        if not left.may_fail:
            return answers
        return f"CASE WHEN {is_failure(a)} THEN [{codes.failed}] ELSE {answers} END"

    answers = f"flatten({mapped(left.items, scope, row)})"
    if right.may_fail:
        answers = f"list_concat({answers}, {_failures(right, scope)})"
    return _summed(answers, codes)


_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _turned(comparison: Compared) -> Compared:
    operator = _TURNED.get(comparison.operator, comparison.operator)
    return Compared(operator, comparison.right, comparison.left)


def _with_constant(comparison: Compared) -> Callable[[str], str]:
    """A comparison of items with a constant on its right."""
    operator = comparison.operator
    assert isinstance(comparison.right, Constant)
    constant = comparison.right.text
    differs = "TRUE" if operator == "<>" else "FALSE"
    equals = "TRUE" if operator in {"=", "<=", ">="} else "FALSE"
    if constant == "null":
        return lambda item: f"CASE WHEN {item} = 'null' THEN {equals} ELSE {differs} END"
    sign = {'"': '"', "t": "t", "f": "t"}.get(constant[0], "0")

    def ask(item: str) -> str:
        if sign == "0":
            same = compared(item, literal(constant), operator)
        elif sign == "t":
            same = f"{item} {operator} {literal(constant)}"
        else:
            same = f"{text_in(item)} {operator} {text_in(literal(constant))}"
        return f"CASE {kind(item)} WHEN '{sign}' THEN {same} WHEN 'n' THEN {differs} END"

    return ask


def _pair(operator: str) -> AskPair:
    differs = "TRUE" if operator == "<>" else "FALSE"
    equals = "TRUE" if operator in {"=", "<=", ">="} else "FALSE"

    def ask(a: str, b: str) -> str:
        return (
            f"CASE WHEN {kind(a)} <> {kind(b)}"
            f" THEN CASE WHEN 'null' IN ({a}, {b}) THEN {differs} END"
            f" ELSE CASE {kind(a)} WHEN '0' THEN {compared(a, b, operator)}"
            f" WHEN '\"' THEN {text_in(a)} {operator} {text_in(b)}"
            f" WHEN 't' THEN {a} {operator} {b} WHEN 'n' THEN {equals} END END"
        )

    return ask


def _starts(whole: str, initial: str) -> str:
    return (
        f"CASE WHEN {kind(whole)} = '\"' AND {kind(initial)} = '\"'"
        f" THEN starts_with({text_in(whole)}, {text_in(initial)}) END"
    )


def _without_line_ends(found: re.Match[str]) -> str:
    """Brackets that name what a sign is not, of which the end of a line is one."""
    if found["is_not"] is None:
        return found[0]
    parts = ("\\n", found["signs"]) if found["signs"][:1] != "-" else (found["signs"], "\\n")
    return f"[^{found['first']}{''.join(parts)}]"


def _matches(like: LikeRegex) -> Callable[[str], str]:
    """Whether a text matches a regular expression, in which ``.`` is no end of a line."""
    ignores_case = "i" in like.flags
    if "q" in like.flags:
        if not ignores_case:
            return lambda item: f"contains({text_in(item)}, {literal(like.pattern)})"
        pattern, options = re.escape(like.pattern), "i"
    else:
        if "x" in like.flags:
            raise Unsaid('like_regex with the flag "x"', "leave the blanks out of the pattern")
        if like.pattern.startswith(("(?", "***")):
            raise Unsaid(
                f"like_regex of a pattern with options, {like.pattern[:40]!r}",
                'write them behind it, as in like_regex "^a" flag "i"',
            )
        pattern = like.pattern
        if "s" not in like.flags:
            pattern = _BRACKETS.sub(_without_line_ends, pattern)
        pattern = expression_in_store(pattern).removeprefix("(?s)")
        options = "".join(sorted(set(like.flags) & set("ims")))
    whole = literal(f"(?{options}){pattern}" if options else pattern)
    return lambda item: f"regexp_matches({text_in(item)}, {whole})"
