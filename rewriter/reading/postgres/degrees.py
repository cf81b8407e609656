"""PostgreSQL's functions of angles in degrees, in DuckDB's SQL. Pure.

sind(30), cosd(60)      0.5, where sin(radians(30)) is 0.49999999999999994
tand(90)                infinite

Each is computed as PostgreSQL computes it: by quadrant, as a quotient with the value of an angle
whose result is known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sqlglot import exp

from journal.sql.builders import fill
from rewriter.functions import function_name

_RADIANS = "CAST('0.0174532925199432957692' AS DOUBLE)"
_INFINITE = "CAST('Infinity' AS DOUBLE)"
_OUT_OF_RANGE = "error('input is out of range')"


def _small_sine(x: str) -> str:
    return f"sin(({x}) * {_RADIANS}) / sin(30 * {_RADIANS}) / 2"


def _small_cosine(x: str) -> str:
    return f"1 - (1 - cos(({x}) * {_RADIANS})) / (1 - cos(60 * {_RADIANS})) / 2"


def _sine(x: str) -> str:
    """The sine of an angle from 0 to 90."""
    return f"CASE WHEN {x} <= 30 THEN {_small_sine(x)} ELSE {_small_cosine(f'90 - {x}')} END"


def _cosine(x: str) -> str:
    return f"CASE WHEN {x} <= 60 THEN {_small_cosine(x)} ELSE {_small_sine(f'90 - {x}')} END"


def _arc_sine(x: str) -> str:
    """The angle of a sine from 0 to 1."""
    wide = f"90 - acos({x}) / acos(CAST(0.5 AS DOUBLE)) * 60"
    return f"CASE WHEN {x} <= 0.5 THEN asin({x}) / asin(CAST(0.5 AS DOUBLE)) * 30 ELSE {wide} END"


def _arc_cosine(x: str) -> str:
    wide = f"90 - asin({x}) / asin(CAST(0.5 AS DOUBLE)) * 30"
    return f"CASE WHEN {x} <= 0.5 THEN {wide} ELSE acos({x}) / acos(CAST(0.5 AS DOUBLE)) * 60 END"


_TURNED = "(abs(v) % 360)"
_FOLDED = f"(CASE WHEN {_TURNED} > 180 THEN 360 - {_TURNED} ELSE {_TURNED} END)"
_ANGLE = f"(CASE WHEN {_FOLDED} > 90 THEN 180 - {_FOLDED} ELSE {_FOLDED} END)"
_BEHIND = f"CASE WHEN (v < 0) <> ({_TURNED} > 180) THEN -1 ELSE 1 END"
"""The sign of a sine: that of the angle, and the other one in the second half of a turn."""
_OPPOSITE = f"CASE WHEN {_FOLDED} > 90 THEN -1 ELSE 1 END"


def _turned(sql: str) -> str:
    return f"CASE WHEN isinf(v) THEN {_OUT_OF_RANGE} ELSE {sql} END"


def _quotient(above: Callable[[str], str], below: Callable[[str], str]) -> str:
    """A tangent or cotangent, which is infinite where the lower side is 0, and never -0."""
    one = f"(({above('45')}) / ({below('45')}))"
    value = f"({above(_ANGLE)}) / NULLIF({below(_ANGLE)}, 0) / {one}"
    return (
        f"CASE WHEN v IS NULL THEN NULL ELSE ({_BEHIND}) * ({_OPPOSITE})"
        f" * COALESCE({value}, {_INFINITE}) + 0 END"
    )


def _within(sql: str) -> str:
    return f"CASE WHEN NOT isnan(v) AND abs(v) > 1 THEN {_OUT_OF_RANGE} ELSE {sql} END"


_ONE: Mapping[str, str] = {
    "sind": _turned(f"({_BEHIND}) * ({_sine(_ANGLE)})"),
    "cosd": _turned(f"({_OPPOSITE}) * ({_cosine(_ANGLE)})"),
    "tand": _turned(_quotient(_sine, _cosine)),
    "cotd": _turned(_quotient(_cosine, _sine)),
    "asind": _within(f"CASE WHEN v < 0 THEN -({_arc_sine('(-v)')}) ELSE {_arc_sine('v')} END"),
    "acosd": _within(
        f"CASE WHEN v < 0 THEN 90 + ({_arc_sine('(-v)')}) ELSE {_arc_cosine('v')} END"
    ),
    "atand": "atan(v) / atan(CAST(1 AS DOUBLE)) * 45",
}
_OF_TWO = "atan2(CAST(y AS DOUBLE), CAST(x AS DOUBLE)) / atan(CAST(1 AS DOUBLE)) * 45"
NAMES = frozenset({*_ONE, "atan2d"})


def spell_degrees(node: exp.Expr, arguments: Sequence[exp.Expr]) -> exp.Expr | None:
    """``sind(x)`` and its like; each computes its argument once."""
    name = function_name(node)
    if name == "atan2d":
        if len(arguments) != 2:
            return None
        y, x = (exp.paren(argument.copy()) for argument in arguments)
        return fill(_OF_TWO, y=y, x=x)
    if len(arguments) != 1:
        return None
    once = f"list_extract(list_transform([CAST(a AS DOUBLE)], LAMBDA v: {_ONE[name]}), 1)"
    return exp.paren(fill(once, a=exp.paren(arguments[0].copy())))
