"""Pieces of DuckDB's SQL about numbers as items of SQL/JSON, which are texts. Pure.

They are compared by value, and computed as whole numbers of up to 38 digits beside their scales, so
that sums and products have all their digits, and quotients as many as PostgreSQL gives them.
"""

from __future__ import annotations

from collections.abc import Callable

from rewriter.reading.postgres.json.path.items import (
    Items,
    Surroundings,
    failure,
    filtered,
    is_failure,
    kind,
    let,
    let_both,
    raised,
)

_SHORT = "-?[0-9]{1,20}([.][0-9]{1,18})?"
_SMALL = "-?[0-9]([.][0-9]{1,16})?e-0?([0-9]|1[0-2])"
_TOO_LONG = "value out of range: a number of a JSON path with more than 38 digits"
_QUOTIENT_DIGITS = 16
_GROUP = 4
"""Digits that PostgreSQL keeps together, and by which it counts those of a quotient."""
_DIVISION_BY_ZERO = failure("division by zero")


def compared(left: str, right: str, operator: str) -> str:
    """A condition on two numbers; as DOUBLE, and exactly where these are the same."""
    rough = [f"TRY_CAST({side} AS DOUBLE)" for side in (left, right)]
    same = "TRUE" if operator in {"=", "<=", ">="} else "FALSE"
    return (
        f"CASE WHEN {rough[0]} <> {rough[1]} THEN {rough[0]} {operator} {rough[1]}"
        f" WHEN {left} = {right} THEN {same} ELSE {_exact(left)} {operator} {_exact(right)} END"
    )


def _exact(number: str) -> str:
    short = _without_zeros(number)
    return (
        f"CASE WHEN regexp_full_match({short}, '{_SHORT}')"
        f" THEN CAST({short} AS DECIMAL(38, 18)) ELSE {raised(_TOO_LONG)} END"
    )


def _without_zeros(number: str) -> str:
    return (
        f"CASE WHEN contains({number}, '.') AND NOT contains({number}, 'e')"
        f" THEN rtrim(rtrim({number}, '0'), '.') ELSE {number} END"
    )


def plain(number: str) -> str:
    """A number without an exponent."""
    return (
        f"CASE WHEN NOT contains(lower({number}), 'e') THEN {number}"
        f" WHEN regexp_full_match(lower({number}), '{_SMALL}')"
        f" THEN rtrim(CAST(CAST({number} AS DECIMAL(38, 30)) AS VARCHAR), '0')"
        f" WHEN contains({number}, '-') THEN {raised(_TOO_LONG)}"
        f" ELSE CAST(CAST({number} AS DECIMAL(38, 0)) AS VARCHAR) END"
    )


def negated(number: str) -> str:
    """A number with the other sign; zero has none."""
    return (
        f"CASE WHEN starts_with({number}, '-') THEN substr({number}, 2)"
        f" WHEN regexp_full_match({number}, '[0.]+') THEN {number} ELSE '-' || {number} END"
    )


def magnitude(number: str) -> str:
    """A number without its sign."""
    return f"ltrim({number}, '-')"


def next_whole(number: str, *, up: bool) -> str:
    """The next whole number above, or below."""
    condition, step = ("NOT starts_with", "+ 1") if up else ("starts_with", "- 1")
    parts = [f"split_part({plain(number)}, '.', {place})" for place in (1, 2)]
    return (
        f"CAST(CAST({parts[0]} AS HUGEINT) + CASE WHEN {condition}({number}, '-')"
        f" AND rtrim({parts[1]}, '0') <> '' THEN 0 {step} ELSE 0 END AS VARCHAR)"
    )


def truncated(number: str) -> str:
    """The whole part of a number as an INTEGER; NULL for one that is beyond it."""
    return f"TRY_CAST(split_part({plain(number)}, '.', 1) AS INTEGER)"


def computed(a: str, b: str, operator: str, scope: Surroundings) -> str:
    """The number, or the error, that an operator makes of two plain numbers."""
    if operator == "/":
        scale = _quotient_scale(a, b)
        digits = _quotient(a, b, scale)
    elif operator == "*":
        scale = f"({_scale(a)} + {_scale(b)})"
        digits = f"{_digits(a)} * {_digits(b)}"
    else:
        scale = f"greatest({_scale(a)}, {_scale(b)})"
        left, right = (f"{_digits(n)} * {_power(f'{scale} - {_scale(n)}')}" for n in (a, b))
        digits = f"({left}) {operator} ({right})"
    made = let_both((f"CAST({digits} AS VARCHAR)", scale), scope, _number_text)
    if operator in {"/", "%"}:
        made = f"CASE WHEN {_digits(b)} = 0 THEN {_DIVISION_BY_ZERO} ELSE {made} END"
    return made


def _scale(number: str) -> str:
    return f"length(split_part({number}, '.', 2))"


def _digits(number: str) -> str:
    return f"CAST(replace({number}, '.', '') AS HUGEINT)"


def _power(exponent: str) -> str:
    """A power of ten."""
    return f"CAST('1' || repeat('0', CAST({exponent} AS BIGINT)) AS HUGEINT)"


def _number_text(digits: str, scale: str) -> str:
    """A number of its digits and of how many of them stand behind the point."""
    bare = f"ltrim({digits}, '-')"
    padded = f"lpad({bare}, CAST(greatest(length({bare}), {scale} + 1) AS INTEGER), '0')"
    return (
        f"CASE WHEN starts_with({digits}, '-') THEN '-' ELSE '' END"
        f" || left({padded}, length({padded}) - {scale})"
        f" || CASE WHEN {scale} > 0 THEN '.' || right({padded}, {scale}) ELSE '' END"
    )


def _quotient(a: str, b: str, scale: str) -> str:
    """The quotient rounded to a scale, halves away from zero."""
    dividend = f"abs({_digits(a)}) * {_power(f'{scale} + {_scale(b)} - {_scale(a)}')}"
    divisor = f"abs({_digits(b)})"
    rounded = f"(2 * {dividend} + {divisor}) // (2 * {divisor})"
    return f"CASE WHEN ({_digits(a)} < 0) <> ({_digits(b)} < 0) THEN -1 ELSE 1 END * ({rounded})"


def _quotient_scale(a: str, b: str) -> str:
    """How many digits PostgreSQL gives a quotient: by the first groups of digits of both."""
    weight = (
        f"({_weight(a)} - {_weight(b)} - CASE WHEN {_first(a)} <= {_first(b)} THEN 1 ELSE 0 END)"
    )
    return f"greatest({_QUOTIENT_DIGITS} - {weight} * {_GROUP}, {_scale(a)}, {_scale(b)}, 0)"


def _in_front(number: str) -> str:
    return f"ltrim(split_part({number}, '.', 1), '-0')"


def _zeros_behind(number: str) -> str:
    """Zeros between the point and the first other digit."""
    behind = f"split_part({number}, '.', 2)"
    return f"(length({behind}) - length(ltrim({behind}, '0')))"


def _weight(number: str) -> str:
    front = _in_front(number)
    return (
        f"CASE WHEN {_digits(number)} = 0 THEN 0"
        f" WHEN {front} <> '' THEN (length({front}) - 1) // {_GROUP}"
        f" ELSE -({_zeros_behind(number)} // {_GROUP}) - 1 END"
    )


def _first(number: str) -> str:
    front = _in_front(number)
    behind = f"substr(rpad(split_part({number}, '.', 2), 60, '0'), {{}}, {_GROUP})"
    start = f"{_zeros_behind(number)} // {_GROUP} * {_GROUP} + 1"
    return (
        f"CASE WHEN {_digits(number)} = 0 THEN 0"
        f" WHEN {front} <> ''"
        f" THEN CAST(left({front}, (length({front}) - 1) % {_GROUP} + 1) AS INTEGER)"
        f" ELSE CAST({behind.format(start)} AS INTEGER) END"
    )


def single_number(
    found: Items, scope: Surroundings, wrong: str, make: Callable[[str], str] = plain
) -> str:
    """What is made of the only item of a sequence, which must be a number; else an error."""
    if found.is_single and found.sql.strip("'").replace(".", "").isdigit():
        return make(found.sql)

    def checked(item: str) -> str:
        failed = f" WHEN '!' THEN {item}" if found.may_fail else ""
        return f"CASE {kind(item)} WHEN '0' THEN {make(item)}{failed} ELSE {wrong} END"

    if found.is_single:
        return let(found.sql, scope, checked)

    def chosen(items: str) -> str:
        first = f"list_extract({items}, 1)"
        one = f"CASE WHEN len({items}) = 1 THEN {checked(first)} ELSE {wrong} END"
        if not found.may_fail:
            return one
        failed = f"list_extract({filtered(items, scope, is_failure)}, 1)"
        return f"COALESCE({failed}, {one})"

    return let(found.sql, scope, chosen)
